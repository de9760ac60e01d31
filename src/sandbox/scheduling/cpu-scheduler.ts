import { availableParallelism } from "node:os";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";

/** Time slice of a guest while more guests with a debt compute than there are processors. */
export const GUEST_TIME_SLICE_MS = 100;

/** A guest that can be paused and resumed; both methods may be called repeatedly. */
export interface SchedulableGuest {
  /** Whether it computes, or wants to. */
  readonly runnable: boolean;
  /** Recent CPU time beyond its fair share. */
  readonly cpuDebtMs: number;
  pause(): void;
  resume(): void;
}

/** The part of an equal share of the processors that a guest may use without debt. */
const FREE_SHARE = 0.5;

/**
 * Shares the processors among guests that compute a lot, so that any number of them leaves room for
 * the others: guests that compute little are never paused, and the guest with the smallest debt is
 * first. The more guests are runnable, the less debt each may have before it is paused; otherwise
 * fifty that begin at once would take all processors for ten seconds. No guest is paused as long as
 * there is a processor for each. Unlike a priority, which an ordinary user cannot raise again and
 * which the kernel's grouping by session ignores, a pause has no lasting effect on the guest.
 */
export class CpuScheduler<T extends SchedulableGuest> {
  readonly #processors: number;
  /** Guests with a debt: the first ones have a processor, the others are paused. */
  #queue: T[] = [];
  #rotatedAt = 0;
  #runnableCount = 0;

  constructor(processors = availableParallelism()) {
    this.#processors = processors;
  }

  /** The part of a processor that each guest may use without debt. */
  get fairShare(): number {
    return Math.min(1, (FREE_SHARE * this.#processors) / Math.max(1, this.#runnableCount));
  }

  /** Pauses and resumes guests by their debts; called every few milliseconds. */
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

/** Debt in whole time slices, so that guests with about the same debt alternate. */
function debtInSlices({ cpuDebtMs }: SchedulableGuest): number {
  return Math.floor(cpuDebtMs / GUEST_TIME_SLICE_MS);
}
