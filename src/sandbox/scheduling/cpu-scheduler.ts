import { availableParallelism } from "node:os";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";

/** Turn of a guest that computes by turns, when there are more of them than processors. */
export const GUEST_TIME_SLICE_MS = 100;

/**
 * Something that computes and can be stopped and let go on; both methods are called again and
 * again.
 */
export interface SchedulableGuest {
  /** Whether it computes, or wants to. */
  readonly runnable: boolean;
  /** CPU time that it has used of late beyond its due share. */
  readonly cpuDebtMs: number;
  pause(): void;
  resume(): void;
}

/** The part of an equal share of the processors that anybody may use without debt. */
const DUE = 0.5;

/**
 * Lets guests that compute a lot take turns on the processors, so that any number of them leaves
 * the others room: those that compute little are never stopped, and who owes least is first. The
 * more want to compute, the less each may owe before it is stopped, or fifty that begin at once
 * would take all processors for ten seconds. As long as there is a processor for each, nobody is
 * stopped. Unlike a priority, which an ordinary user cannot raise again and which the
 * kernel's grouping by session ignores, a turn leaves no trace on the guest.
 */
export class CpuScheduler<T extends SchedulableGuest> {
  readonly #places: number;
  /** Everyone who owes something: the first ones have a processor, the others wait. */
  #line: T[] = [];
  #turnedAt = 0;
  #awake = 0;

  constructor(places = availableParallelism()) {
    this.#places = places;
  }

  /** The part of a processor that anybody may use without debt. */
  get fairShare(): number {
    return Math.min(1, (DUE * this.#places) / Math.max(1, this.#awake));
  }

  schedule(all: Iterable<T>, now: number): void {
    const everybody = [...all];
    this.#awake = everybody.filter(({ runnable }) => runnable).length;
    const burstMs = GUEST_BURST_CPU_MS_MAX * Math.min(1, this.#places / Math.max(1, this.#awake));
    const owing = new Set<T>();
    for (const one of everybody) {
      if (one.runnable && one.cpuDebtMs > burstMs) owing.add(one);
      else one.resume();
    }
    this.#line = this.#line.filter((one) => owing.delete(one));
    this.#line.push(...owing);
    if (now - this.#turnedAt >= GUEST_TIME_SLICE_MS) {
      this.#turnedAt = now;
      this.#line.push(...this.#line.splice(0, this.#places));
      this.#line.sort((a, b) => turnsOwed(a) - turnsOwed(b));
    }
    for (const [index, one] of this.#line.entries()) {
      if (index < this.#places) one.resume();
      else one.pause();
    }
  }
}

/** Debt in whole turns, so that those who owe about the same take turns. */
function turnsOwed({ cpuDebtMs }: SchedulableGuest): number {
  return Math.floor(cpuDebtMs / GUEST_TIME_SLICE_MS);
}
