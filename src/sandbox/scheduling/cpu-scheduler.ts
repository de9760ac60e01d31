import { availableParallelism } from "node:os";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";
import type { Guest } from "../process/guest.ts";

/**
 * Length in milliseconds of the turns that guest processes take on the processors. They take turns
 * only while more guests with a CPU debt (CPU time beyond a fair share) compute than there are
 * processors.
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
 * others. While there are too few processors, guests whose CPU debt (CPU time beyond a fair share)
 * exceeds a limit are paused in turns. The workspaces with the smallest debt run first, and two
 * guests of one workspace divide its share.
 *
 * The limit is lower while more guests compute than there are processors. With a constant limit,
 * many guests that begin to compute at once would take all processors for seconds.
 *
 * The scheduler pauses guests instead of lowering their priority, because an ordinary user cannot
 * raise a priority again, and the kernel may ignore priorities between sessions.
 */
export class CpuScheduler<T extends SchedulableGuest> {
  /**
   * Workspaces with guests whose CPU debt exceeds the limit, in the order of their turns. First,
   * one such guest of each workspace gets a processor, then the others. Guests without a processor
   * are paused.
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
