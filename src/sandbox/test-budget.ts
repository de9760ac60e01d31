import { assert } from "../assert.ts";
import { TEST_CPU_MS_MAX, TEST_OUTPUT_BYTES_MAX, TEST_WALL_MS_MAX } from "../settings/limits.ts";
import type { GuestEndCause } from "./process/guest-end.ts";
import type { UserError } from "./program.ts";

const defaults = {
  /**
   * CPU time in milliseconds that all guest processes for the tests of one request together may
   * use. The CPU time of their starts does not count.
   */
  cpuMs: TEST_CPU_MS_MAX,
  /**
   * Wall-clock time in milliseconds after which the tests of one request are stopped. The clock
   * starts with the request, and again from zero each time a guest process has started.
   */
  wallMs: TEST_WALL_MS_MAX,
};

/**
 * Budget of CPU time, wall-clock time and bytes of output for all tests of one request. It ends
 * when one of the times is used up, or when the caller disconnects. The wall-clock time starts
 * again with each guest process, because processes start slowly on a busy machine.
 */
export class TestBudget implements Disposable {
  readonly #end = new AbortController();
  readonly #clock: Timer;
  readonly #disposal = new DisposableStack();
  #cpuMs = 0;
  #outputBytes = 0;
  #over: "cpu" | "wall" | "caller" | undefined;

  constructor(
    private readonly caller?: AbortSignal,
    private readonly limits = defaults,
  ) {
    this.#clock = setTimeout(() => this.#stop("wall"), limits.wallMs);
    this.#clock.unref();
    caller?.addEventListener("abort", this.#handleHangUp);
    if (caller?.aborted) this.#handleHangUp();
  }

  /** Signal that is aborted when the budget ends. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Error for the tests that cannot run because the budget has ended; undefined before the end. */
  get error(): UserError | undefined {
    return this.#over && { message: this.#messageFor(this.#over) };
  }

  /**
   * Whether the budget has ended because the tests have used all their CPU time. If it has ended
   * for another reason, the code is not to blame.
   */
  get cpuSpent(): boolean {
    return this.#over === "cpu";
  }

  /** Whether the caller has disconnected and therefore does not wait for the result. */
  get callerHungUp(): boolean {
    return this.caller?.aborted ?? false;
  }

  /**
   * Cause to record for guest processes that are killed because the budget has ended: `timeout` if
   * the tests have used up their CPU time, else `retired`.
   */
  get guestEnd(): GuestEndCause {
    return this.cpuSpent ? "timeout" : "retired";
  }

  /** Restarts the wall-clock time from zero. Called when a guest of the request has started. */
  restartClock(): void {
    this.#clock.refresh();
  }

  /** Deducts CPU time that a guest process has used. Ends the budget if no CPU time is left. */
  charge(cpuMs: number): void {
    this.#cpuMs += cpuMs;
    if (this.#cpuMs >= this.limits.cpuMs) this.#stop("cpu");
  }

  /**
   * Number of bytes of output that the tests of the request may still produce. Outputs are limited
   * because they are kept in memory: the caller gets all of them in one response.
   */
  get outputBytesLeft(): number {
    return Math.max(0, TEST_OUTPUT_BYTES_MAX - this.#outputBytes);
  }

  /** Adds `bytes` to the size of the outputs that are kept, which lowers `outputBytesLeft`. */
  holdOutput(bytes: number): void {
    assert(bytes >= 0, "Outputs of a test run have a size that is not negative");
    this.#outputBytes += bytes;
  }

  /**
   * Calls `release` when the budget is disposed, which happens at the end of the request. Calls it
   * at once if the budget is already disposed.
   */
  onDispose(release: () => void): void {
    if (this.#disposal.disposed) release();
    else this.#disposal.defer(release);
  }

  [Symbol.dispose](): void {
    this.#disposal.dispose();
    clearTimeout(this.#clock);
    this.caller?.removeEventListener("abort", this.#handleHangUp);
  }

  readonly #handleHangUp = () => this.#stop("caller");

  #stop(over: "cpu" | "wall" | "caller"): void {
    if (this.#over) return;
    this.#over = over;
    this.#end.abort(new Error(this.#messageFor(over)));
  }

  #messageFor(over: "cpu" | "wall" | "caller"): string {
    const { cpuMs, wallMs } = this.limits;
    if (over === "caller") return "Stopped: the caller hung up";
    if (over === "wall") return `Stopped: the tests came no further for ${wallMs / 1_000} s`;
    return `Stopped: the tests of one request may take ${cpuMs / 1_000} s of CPU time together`;
  }
}
