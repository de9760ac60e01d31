import { availableParallelism } from "node:os";
import { GUEST_TURN_MS } from "../limits.ts";

/** What computes, and can be stopped and let go on; both are called again and again. */
export interface Computing {
  /** It computes, or wants to. */
  readonly awake: boolean;
  /** It has computed more of late than what is anybody's due. */
  readonly owes: boolean;
  pause(): void;
  resume(): void;
}

/** Of an equal share of the processors. */
const DUE = 0.5;

/**
 * Lets guests that compute a lot take turns on the processors, so that any number of them leaves
 * the others room: those that compute little are never stopped. As long as there is a processor
 * for each, nobody is. Unlike a priority, which an ordinary user cannot raise again and which the
 * kernel's grouping by session ignores, a turn leaves no trace on the guest.
 */
export class Rota<T extends Computing> {
  readonly #places: number;
  /** The first ones have a processor, the others wait. */
  #line: T[] = [];
  #turnedAt = 0;
  #awake = 0;

  constructor(places = availableParallelism()) {
    this.#places = places;
  }

  /** What anybody may use of a processor and owe nothing. */
  get dueShare(): number {
    return Math.min(1, (DUE * this.#places) / Math.max(1, this.#awake));
  }

  look(all: Iterable<T>, now: number): void {
    const owing = new Set<T>();
    this.#awake = 0;
    for (const one of all) {
      if (one.awake) this.#awake += 1;
      if (one.awake && one.owes) owing.add(one);
      else one.resume();
    }
    this.#line = this.#line.filter((one) => owing.delete(one));
    this.#line.push(...owing);
    if (now - this.#turnedAt >= GUEST_TURN_MS) {
      this.#turnedAt = now;
      this.#line.push(...this.#line.splice(0, this.#places));
    }
    for (const [index, one] of this.#line.entries()) {
      if (index < this.#places) one.resume();
      else one.pause();
    }
  }
}
