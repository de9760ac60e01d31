import { availableParallelism } from "node:os";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";
import type { Guest } from "../process/guest.ts";

/**
 * Length in milliseconds of the time slices in which guest processes take turns on the processors.
 * Time slices apply only while more guests with a CPU debt (CPU time beyond a fair share) compute
 * than there are processors.
 */
export const GUEST_TIME_SLICE_MS = 100;

/** The part of a guest (process that runs user code) that the scheduler reads and controls. */
export type SchedulableGuest = Pick<
  Guest,
  "workspaceId" | "runnable" | "cpuDebtMs" | "pause" | "resume"
>;

/**
 * Fraction of its equal share that a workspace may use without CPU debt. The equal share is the
 * number of processors divided by the number of workspaces that compute.
 */
const FREE_SHARE = 0.5;

/**
 * Shares the processors among guest processes, so that guests that compute a lot do not block the
 * others. While there is a processor for each guest, none is paused. A guest that computes little
 * is never paused. Among guests with a CPU debt (CPU time used beyond a fair share), the ones of
 * the workspaces with the smallest debt run first.
 *
 * While processors are scarce, a workspace with two guests gets no more CPU time than one with a
 * single guest: its two guests divide its share, and take turns on a processor.
 *
 * A guest is paused only if its debt exceeds a limit. The limit is lower while more guests compute
 * than there are processors. With a constant limit, many guests that begin to compute at once would
 * take all processors for seconds.
 *
 * The scheduler pauses guests instead of lowering their priority: an ordinary user can end a pause,
 * but cannot raise a priority again. Also, the kernel ignores the priorities of processes in
 * different sessions if it schedules each session as a group.
 */
export class CpuScheduler<T extends SchedulableGuest> {
  /**
   * Workspaces, in the order of their turns, that have guests with a CPU debt above the limit that
   * `schedule` computes. First, one such guest of each workspace gets a processor, in this order,
   * and then the other such guests. The guests for which no processor is left are paused. Guests
   * with a smaller debt are never paused.
   */
  #queue: unknown[] = [];
  #rotatedAt = 0;
  /**
   * Shares of the workspaces with a runnable guest process. The key is the workspace id, or the
   * guest itself if it is not assigned to a workspace.
   */
  #shares = new Map<unknown, WorkspaceShare>();

  constructor(private readonly processors = availableParallelism()) {}

  /**
   * Returns the fraction of one processor that a guest process may use without increasing its CPU
   * debt.
   */
  fairShareOf(guest: T): number {
    const ofWorkspace = Math.min(
      1,
      (FREE_SHARE * this.processors) / Math.max(1, this.#shares.size),
    );
    return ofWorkspace / Math.max(1, this.#shares.get(holderOf(guest))?.running ?? 0);
  }

  /**
   * Pauses and resumes guest processes according to their CPU debts. Must be called every few
   * milliseconds.
   */
  schedule(guests: Iterable<T>, now: number): void {
    const all = [...guests];
    const runnable = all.filter((guest) => guest.runnable);
    this.#shares = sharesOf(runnable);
    const processorsPerGuest = Math.min(1, this.processors / Math.max(1, runnable.length));
    const burstMs = GUEST_BURST_CPU_MS_MAX * processorsPerGuest;
    const indebted = new Map<unknown, T[]>();
    for (const guest of all) {
      if (guest.runnable && guest.cpuDebtMs > burstMs) {
        indebted.getOrInsert(holderOf(guest), []).push(guest);
      } else guest.resume();
    }
    this.#queue = this.#queue.filter((holder) => indebted.has(holder));
    this.#queue.push(...[...indebted.keys()].filter((holder) => !this.#queue.includes(holder)));
    if (now - this.#rotatedAt >= GUEST_TIME_SLICE_MS) {
      this.#rotatedAt = now;
      this.#queue.push(...this.#queue.splice(0, this.processors));
      const slicesOf = (holder: unknown) => slices(this.#shares.get(holder)!.debtMs);
      this.#queue.sort((a, b) => slicesOf(a) - slicesOf(b));
    }
    const byDebt = (a: T, b: T) => slices(a.cpuDebtMs) - slices(b.cpuDebtMs);
    const turns = this.#queue.map((holder) => indebted.get(holder)!.toSorted(byDebt));
    const order = [...turns.map(([first]) => first!), ...turns.flatMap(([, ...others]) => others)];
    for (const [position, guest] of order.entries()) {
      if (position < this.processors) guest.resume();
      else {
        guest.pause();
        this.#shares.get(holderOf(guest))!.running -= 1;
      }
    }
  }
}

/**
 * Returns a CPU debt as a whole number of time slices, rounded down. Workspaces whose debts give
 * the same number take turns.
 */
function slices(debtMs: number): number {
  return Math.floor(debtMs / GUEST_TIME_SLICE_MS);
}

interface WorkspaceShare {
  /**
   * Number of guest processes of the workspace that are runnable and not paused. Each gets an equal
   * part of the workspace's fair share of CPU time.
   */
  running: number;
  /** The largest CPU debt of a runnable guest process of the workspace. */
  debtMs: number;
}

function holderOf(guest: SchedulableGuest): unknown {
  return guest.workspaceId ?? guest;
}

function sharesOf(runnable: readonly SchedulableGuest[]): Map<unknown, WorkspaceShare> {
  const shares = new Map<unknown, WorkspaceShare>();
  for (const guest of runnable) {
    const share = shares.getOrInsert(holderOf(guest), { running: 0, debtMs: 0 });
    share.running += 1;
    share.debtMs = Math.max(share.debtMs, guest.cpuDebtMs);
  }
  return shares;
}
