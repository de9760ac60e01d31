import { backoffMs } from "../../concurrency/backoff.ts";

/** Delay after a guest that did not even start, doubled each time. */
const GUEST_RESTART_DELAY_MS_MIN = 100;
/** Longest delay until a guest that does not even start is tried again. */
const GUEST_RESTART_DELAY_MS_MAX = 30_000;

/** Guests in a row that may fail to start before their language counts as unavailable. */
const FAILURES_MAX = 3;

/** How the starts of one language's guests go; they are tried later and later when they fail. */
export class GuestStartHealth {
  #failures = 0;
  #retryAt = 0;
  /** Why the last start failed; undefined when it did not. */
  reason: string | undefined;
  /** Whether a guest has started since. */
  ready = false;
  /** What the confinement of the last guest lacks. */
  confinementGap: string | undefined;

  /** Whether guests do not start, and not by accident. */
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

  onSuccess(lacks: string | undefined): void {
    this.#failures = 0;
    this.reason = undefined;
    this.ready = true;
    this.confinementGap = lacks;
  }

  /** `final`: the guest itself says that it cannot serve. */
  onFailure(reason: string, final: boolean): void {
    const failures = this.#failures + 1;
    const delayMs = backoffMs(failures, GUEST_RESTART_DELAY_MS_MIN, GUEST_RESTART_DELAY_MS_MAX);
    this.#retryAt = performance.now() + delayMs;
    this.#failures = Math.max(failures, final ? FAILURES_MAX : 0);
    this.reason = reason;
  }
}
