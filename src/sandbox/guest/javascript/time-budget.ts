import type { Realm } from "./realm.ts";
import type { RunnerStep } from "./runner/runner-source.ts";

/** Clock time of one request. Waiting for host calls does not count. */
export class TimeBudget {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Runs a step of the realm in the time that is left; throws `ScriptTimeout`. */
  step(realm: Realm, step: RunnerStep): void {
    this.spend((leftMs) => realm.step(step, leftMs));
  }

  /** Runs a function that obeys a time limit in whole milliseconds. */
  spend<T>(run: (leftMs: number) => T): T {
    const start = performance.now();
    try {
      return run(Math.max(1, Math.ceil(this.#leftMs)));
    } finally {
      this.#leftMs -= performance.now() - start;
    }
  }
}
