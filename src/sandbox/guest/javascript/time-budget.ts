import type { Realm } from "./realm.ts";
import type { RunnerStep } from "./runner/runner-source.ts";

/** The time on the clock of one question of the host. Waiting for the network does not count. */
export class TimeBudget {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Takes a step of the realm with what is left; throws `TimedOut`. */
  step(realm: Realm, step: RunnerStep): void {
    this.spend((leftMs) => realm.step(step, leftMs));
  }

  /** Runs something that obeys a time limit in whole milliseconds. */
  spend<T>(run: (leftMs: number) => T): T {
    const start = performance.now();
    try {
      return run(Math.max(1, Math.ceil(this.#leftMs)));
    } finally {
      this.#leftMs -= performance.now() - start;
    }
  }
}
