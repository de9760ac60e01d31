import { TEST_CPU_MS_MAX, TEST_OUTPUT_BYTES_MAX, TEST_WALL_MS_MAX } from "../settings/limits.ts";
import type { GuestEndCause } from "./process/guest-end.ts";
import type { UserError } from "./program.ts";

export interface TestLimits {
  /** CPU time of the guests, but for their starts. */
  cpuMs: number;
  /** Time on the clock since the last guest began, or for the first one. */
  wallMs: number;
}

const defaults: TestLimits = { cpuMs: TEST_CPU_MS_MAX, wallMs: TEST_WALL_MS_MAX };

/**
 * What the tests of one request may use together, until the caller hangs up. CPU time is the rule,
 * since a busy machine is no fault of the code. The clock is the end for code that sleeps; it
 * begins anew with each guest, since starts are slow on a busy machine.
 */
export class TestBudget implements Disposable {
  readonly #limits: TestLimits;
  readonly #caller: AbortSignal | undefined;
  readonly #end = new AbortController();
  readonly #clock: Timer;
  #cpuMs = 0;
  #outputBytes = 0;
  #over: "cpu" | "wall" | "left" | undefined;

  constructor(caller?: AbortSignal, limits = defaults) {
    this.#limits = limits;
    this.#caller = caller;
    this.#clock = setTimeout(() => this.#stop("wall"), limits.wallMs);
    this.#clock.unref();
    caller?.addEventListener("abort", this.#hangUp);
    if (caller?.aborted) this.#hangUp();
  }

  /** Aborts when the budget is over. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The error of tests that the budget did not allow; undefined while some budget is left. */
  get error(): UserError | undefined {
    return this.#over && { message: this.#sentence(this.#over) };
  }

  /** Whether the tests have used all their CPU time: their own fault, unlike the other ends. */
  get cpuSpent(): boolean {
    return this.#over === "cpu";
  }

  /** Whether nobody waits for what the tests find. */
  get callerHungUp(): boolean {
    return this.#caller?.aborted ?? false;
  }

  /** How guests end that still work when the budget is over. */
  get guestEnd(): GuestEndCause {
    return this.cpuSpent ? "timeout" : "retired";
  }

  /** A guest of the request begins. */
  restartClock(): void {
    this.#clock.refresh();
  }

  /** Takes note of CPU time that a guest of the request has used. */
  charge(cpuMs: number): void {
    this.#cpuMs += cpuMs;
    if (this.#cpuMs >= this.#limits.cpuMs) this.#stop("cpu");
  }

  /**
   * Bytes of outputs that the tests may still hold; all of them are answered to the caller
   * together.
   */
  get outputBytesLeft(): number {
    return Math.max(0, TEST_OUTPUT_BYTES_MAX - this.#outputBytes);
  }

  /** Takes note of outputs that are held. */
  holdOutput(bytes: number): void {
    this.#outputBytes += bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#clock);
    this.#caller?.removeEventListener("abort", this.#hangUp);
  }

  readonly #hangUp = () => this.#stop("left");

  #stop(over: "cpu" | "wall" | "left"): void {
    if (this.#over) return;
    this.#over = over;
    this.#end.abort(new Error(this.#sentence(over)));
  }

  #sentence(over: "cpu" | "wall" | "left"): string {
    const { cpuMs, wallMs } = this.#limits;
    if (over === "left") return "Stopped: the caller hung up";
    if (over === "wall") return `Stopped: the tests came no further for ${wallMs / 1_000} s`;
    return `Stopped: the tests of one request may take ${cpuMs / 1_000} s of CPU time together`;
  }
}
