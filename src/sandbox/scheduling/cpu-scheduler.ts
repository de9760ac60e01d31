import { availableParallelism } from "node:os";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";

/**
 * Milliseconds for which a guest may compute before its processor is given to another guest. Such
 * time slices apply only while more guests with a CPU debt compute than there are processors.
 */
export const GUEST_TIME_SLICE_MS = 100;

/** A guest that the scheduler can pause and resume. Repeated calls of either method do nothing. */
export interface SchedulableGuest {
  /** Whether the guest is computing, or would compute if it were not paused. */
  readonly runnable: boolean;
  /** CPU time that the guest has recently used beyond its fair share. */
  readonly cpuDebtMs: number;
  pause(): void;
  resume(): void;
}

/**
 * The part of an equal share of the processors that a guest may use without incurring a CPU debt.
 */
const FREE_SHARE = 0.5;

/**
 * Shares the processors among guests, so that guests that compute a lot do not block the others. A
 * guest that computes little is never paused. Among guests with a CPU debt, those with the smallest
 * debt run first. No guest is paused while there is a processor for each.
 *
 * The more guests are runnable, the smaller is the debt at which a guest is paused. Otherwise fifty
 * guests that begin to compute at once would take all processors for ten seconds.
 *
 * The scheduler pauses guests instead of lowering their priority, because a pause has no lasting
 * effect. An ordinary user cannot raise a priority again, and the kernel ignores priorities between
 * sessions that it schedules as groups.
 */
export class CpuScheduler<T extends SchedulableGuest> {
  readonly #processors: number;
  /**
   * Guests whose CPU debt is above the limit. The first ones, one per processor, run; the others
   * are paused.
   */
  #queue: T[] = [];
  #rotatedAt = 0;
  #runnableCount = 0;

  constructor(processors = availableParallelism()) {
    this.#processors = processors;
  }

  /** The part of one processor that each guest may use without incurring a CPU debt. */
  get fairShare(): number {
    return Math.min(1, (FREE_SHARE * this.#processors) / Math.max(1, this.#runnableCount));
  }

  /**
   * Pauses and resumes guests according to their CPU debts. The caller calls this every few
   * milliseconds.
   */
  schedule(guests: Iterable<T>, now: number): void {
    const all = [...guests];
    this.#runnableCount = all.filter(({ runnable }) => runnable).length;
    const processorsPerGuest = Math.min(1, this.#processors / Math.max(1, this.#runnableCount));
    const burstMs = GUEST_BURST_CPU_MS_MAX * processorsPerGuest;
    const indebted = new Set<T>();
    for (const guest of all) {
      if (guest.runnable && guest.cpuDebtMs > burstMs) indebted.add(guest);
      else guest.resume();
    }
    this.#queue = this.#queue.filter((guest) => indebted.delete(guest));
    this.#queue.push(...indebted);
    if (now - this.#rotatedAt >= GUEST_TIME_SLICE_MS) {
      this.#rotatedAt = now;
      this.#queue.push(...this.#queue.splice(0, this.#processors));
      this.#queue.sort((a, b) => debtInSlices(a) - debtInSlices(b));
    }
    for (const [position, guest] of this.#queue.entries()) {
      if (position < this.#processors) guest.resume();
      else guest.pause();
    }
  }
}

/** CPU debt in whole time slices. The rounding makes guests with similar debts alternate. */
function debtInSlices({ cpuDebtMs }: SchedulableGuest): number {
  return Math.floor(cpuDebtMs / GUEST_TIME_SLICE_MS);
}
