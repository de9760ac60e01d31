import { assert } from "../assert.ts";
import { TEST_CPU_MS_MAX, TEST_OUTPUT_BYTES_MAX, TEST_WALL_MS_MAX } from "../settings/limits.ts";
import type { GuestEndCause } from "./process/guest-end.ts";
import type { UserError } from "./program.ts";

export interface TestLimits {
  /** CPU time of the guests without their starts. */
  cpuMs: number;
  /** Clock time since the last guest began, or until the first one begins. */
  wallMs: number;
}

const defaults: TestLimits = { cpuMs: TEST_CPU_MS_MAX, wallMs: TEST_WALL_MS_MAX };

/**
 * Budget of CPU time, clock time and output that the tests of one request share, until the caller
 * hangs up. CPU time is the main bound, since a busy machine is no fault of the code. Clock time
 * ends code that sleeps; it restarts with each guest, since starts are slow on a busy machine.
 */
export class TestBudget implements Disposable {
  readonly #limits: TestLimits;
  readonly #caller: AbortSignal | undefined;
  readonly #end = new AbortController();
  readonly #clock: Timer;
  #cpuMs = 0;
  #outputBytes = 0;
  #over: "cpu" | "wall" | "caller" | undefined;

  constructor(caller?: AbortSignal, limits = defaults) {
    this.#limits = limits;
    this.#caller = caller;
    this.#clock = setTimeout(() => this.#stop("wall"), limits.wallMs);
    this.#clock.unref();
    caller?.addEventListener("abort", this.#handleHangUp);
    if (caller?.aborted) this.#handleHangUp();
  }

  /** Aborts when the budget is over. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The error of tests that the budget did not allow; undefined while some budget is left. */
  get error(): UserError | undefined {
    return this.#over && { message: this.#messageFor(this.#over) };
  }

  /** Whether the tests have used all their CPU time: their own fault, unlike the other ends. */
  get cpuSpent(): boolean {
    return this.#over === "cpu";
  }

  /** Whether the caller no longer waits for the result. */
  get callerHungUp(): boolean {
    return this.#caller?.aborted ?? false;
  }

  /** The cause with which running guests end when the budget is over. */
  get guestEnd(): GuestEndCause {
    return this.cpuSpent ? "timeout" : "retired";
  }

  /** Called when a guest of the request begins. */
  restartClock(): void {
    this.#clock.refresh();
  }

  /** Charges CPU time that a guest of the request has used. */
  charge(cpuMs: number): void {
    this.#cpuMs += cpuMs;
    if (this.#cpuMs >= this.#limits.cpuMs) this.#stop("cpu");
  }

  /**
   * Bytes of outputs that the tests may still hold; the caller gets all of them in one answer.
   */
  get outputBytesLeft(): number {
    return Math.max(0, TEST_OUTPUT_BYTES_MAX - this.#outputBytes);
  }

  /** Counts outputs that are held. */
  holdOutput(bytes: number): void {
    assert(bytes >= 0, "Outputs of a test run have a size that is not negative");
    this.#outputBytes += bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#clock);
    this.#caller?.removeEventListener("abort", this.#handleHangUp);
  }

  readonly #handleHangUp = () => this.#stop("caller");

  #stop(over: "cpu" | "wall" | "caller"): void {
    if (this.#over) return;
    this.#over = over;
    this.#end.abort(new Error(this.#messageFor(over)));
  }

  #messageFor(over: "cpu" | "wall" | "caller"): string {
    const { cpuMs, wallMs } = this.#limits;
    if (over === "caller") return "Stopped: the caller hung up";
    if (over === "wall") return `Stopped: the tests came no further for ${wallMs / 1_000} s`;
    return `Stopped: the tests of one request may take ${cpuMs / 1_000} s of CPU time together`;
  }
}
