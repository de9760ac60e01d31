import type { Permit } from "../../concurrency/permit.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { GUEST_MEMORY_POLL_MS } from "../guest-limits.ts";
import type { Guest } from "../process/guest.ts";
import type { GuestSource } from "../process/guest-source.ts";
import { readProcessUsage } from "../process/process-usage.ts";
import type { GuestLanguage } from "../program.ts";
import { SandboxUnavailable } from "../sandbox.ts";
import type { TestBudget } from "../test-budget.ts";
import type { GuestStarter } from "./guest-starter.ts";

/**
 * CPU time in ms of each guest process that is not charged to the test budget, because a guest
 * needs it even for code that does nothing. Otherwise many small tests would use up the budget.
 */
const FREE_CPU_MS = 20;

/**
 * Provides the guest process for one test of user code, and a new one when the last has ended.
 * Charges their CPU time to the request's test budget. Disposal kills the guest, and gives back the
 * permit to run a test.
 */
export class ThrowAwayGuests implements GuestSource, Disposable {
  readonly isLeaving = false;
  readonly #meter = setInterval(() => this.#charge(), GUEST_MEMORY_POLL_MS);
  #guest: Guest | undefined;
  #losses = 0;
  /**
   * CPU time in ms of the current guest process that was charged to the test budget before, or is
   * free. The CPU time of the start plus `FREE_CPU_MS` is free.
   */
  #chargedMs = 0;

  constructor(
    private readonly starter: GuestStarter,
    readonly language: GuestLanguage,
    private readonly budget: TestBudget,
    private readonly permit: Permit,
    private readonly read = readProcessUsage,
  ) {
    budget.signal.addEventListener("abort", this.#stop);
  }

  /** Whether a guest process has started and has not ended. */
  get isAlive(): boolean {
    return this.#guest !== undefined && !this.#guest.dying;
  }

  async guest(): Promise<Guest> {
    if (this.#guest && !this.#guest.dying) return this.#guest;
    if (this.#guest) this.#losses += 1;
    const start = this.starter.acquire(this.language, this.#losses);
    const guest = await unlessOver(start, this.budget);
    this.#guest = guest;
    this.budget.restartClock();
    // The start is not charged, since the code is not to blame for its cost.
    this.#chargedMs = (this.read(guest.pid)?.cpuMs ?? 0) + FREE_CPU_MS;
    return guest;
  }

  /**
   * Charges the budget with the CPU time that the guest process has used since the last charge.
   * Then kills the guest, and gives back the permit to run a test.
   */
  [Symbol.dispose](): void {
    clearInterval(this.#meter);
    this.budget.signal.removeEventListener("abort", this.#stop);
    this.#charge();
    this.#guest?.kill("retired");
    this.permit[Symbol.dispose]();
  }

  #charge(): void {
    const usage = this.#guest && this.read(this.#guest.pid);
    if (!usage) return;
    const cpuMs = usage.cpuMs - this.#chargedMs;
    if (cpuMs <= 0) return;
    this.#chargedMs = usage.cpuMs;
    this.budget.charge(cpuMs);
  }

  readonly #stop = () => this.#guest?.kill(this.budget.guestEnd);
}

/**
 * Resolves with the guest process that `start` provides, or rejects with the error of `start`. If
 * the budget ends before that, rejects with `SandboxUnavailable`, and kills the guest once `start`
 * provides it.
 */
async function unlessOver(start: Promise<Guest>, budget: TestBudget): Promise<Guest> {
  try {
    return await unlessAborted(start, budget.signal);
  } catch (error) {
    start.then(
      (guest) => guest.kill("retired"),
      () => {},
    );
    throw budget.error === undefined ? error : new SandboxUnavailable(budget.error.message);
  }
}
