import { backoffMs } from "../../concurrency/backoff.ts";

/** Delay after a guest that failed to start, doubled each time. */
const GUEST_RESTART_DELAY_MS_MIN = 100;
const GUEST_RESTART_DELAY_MS_MAX = 30_000;

/** Guests in a row that may fail to start before their language counts as unavailable. */
const FAILURES_MAX = 3;

/** Success and failure of the starts of one language's guests, with a backoff while they fail. */
export class GuestStartHealth {
  #failures = 0;
  #retryAt = 0;
  /** Reason of the last start's failure; undefined when it succeeded. */
  reason: string | undefined;
  /** Whether a guest has started. */
  ready = false;
  /** The part of the confinement that the last guest lacks. */
  confinementGap: string | undefined;

  /** Whether as many starts in a row have failed as may by accident. */
  get unavailable(): boolean {
    return this.#failures >= FAILURES_MAX;
  }

  get failing(): boolean {
    return this.#failures > 0;
  }

  /** Time until the next start may be tried. */
  get delayMs(): number {
    return Math.max(0, this.#retryAt - performance.now());
  }

  onSuccess(confinementGap: string | undefined): void {
    this.#failures = 0;
    this.reason = undefined;
    this.ready = true;
    this.confinementGap = confinementGap;
  }

  /** `final`: the guest itself reports that it cannot serve. */
  onFailure(reason: string, final: boolean): void {
    const failures = this.#failures + 1;
    const delayMs = backoffMs(failures, GUEST_RESTART_DELAY_MS_MIN, GUEST_RESTART_DELAY_MS_MAX);
    this.#retryAt = performance.now() + delayMs;
    this.#failures = Math.max(failures, final ? FAILURES_MAX : 0);
    this.reason = reason;
  }
}
