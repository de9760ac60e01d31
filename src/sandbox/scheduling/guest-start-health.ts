import { backoffMs } from "../../concurrency/backoff.ts";

/**
 * Delay in milliseconds of the next start of a guest process after one failed start. Each further
 * failure in a row doubles the delay, up to `GUEST_RESTART_DELAY_MS_MAX`.
 */
const GUEST_RESTART_DELAY_MS_MIN = 100;
const GUEST_RESTART_DELAY_MS_MAX = 30_000;

/**
 * Number of failed starts in a row after which the guest processes of a language count as
 * unavailable.
 */
const FAILURES_MAX = 3;

/**
 * Records whether the guest processes of one language start, and delays further starts while they
 * fail.
 */
export class GuestStartHealth {
  #failures = 0;
  #retryAt = 0;
  /** Reason why the last start of a guest process failed; undefined when it succeeded. */
  reason: string | undefined;
  /** Whether at least one guest process has started. */
  ready = false;
  /**
   * Part of the confinement (the system's restrictions on a guest process) that could not be
   * applied to the guest that started last; undefined when its confinement is complete.
   */
  confinementGap: string | undefined;

  /**
   * Whether guest processes count as unavailable: the last `FAILURES_MAX` starts have failed, or a
   * guest has reported that it cannot run code.
   */
  get unavailable(): boolean {
    return this.#failures >= FAILURES_MAX;
  }

  get failing(): boolean {
    return this.#failures > 0;
  }

  /** Milliseconds until the next start of a guest process may be tried; 0 if it may be at once. */
  get delayMs(): number {
    return Math.max(0, this.#retryAt - performance.now());
  }

  onSuccess(confinementGap: string | undefined): void {
    this.#failures = 0;
    this.reason = undefined;
    this.ready = true;
    this.confinementGap = confinementGap;
  }

  /**
   * Records a failed start. Pass `final` when the guest itself has reported that it cannot run user
   * code: guest processes then count as unavailable at once.
   */
  onFailure(reason: string, final: boolean): void {
    const failures = this.#failures + 1;
    const delayMs = backoffMs(failures, GUEST_RESTART_DELAY_MS_MIN, GUEST_RESTART_DELAY_MS_MAX);
    this.#retryAt = performance.now() + delayMs;
    this.#failures = Math.max(failures, final ? FAILURES_MAX : 0);
    this.reason = reason;
  }
}

/** Whether user code runs, and why not, or with which restrictions missing. */
export interface SandboxStatus {
  state: "starting" | "ready" | "unavailable";
  /**
   * Why guest processes do not start, in the states `starting` and `unavailable`; absent while no
   * start has failed. In the state `ready`, the missing part of the confinement of user code;
   * absent if none is missing.
   */
  reason?: string;
  /**
   * Whether the setting `sandbox.insecure` permits user code to run with incomplete confinement.
   * Also false in the state `ready` if, for each language in use, the guest process that started
   * last is completely confined.
   */
  insecure: boolean;
}

/** Returns the state of the sandbox, from the start health of all languages. Pure function. */
export function sandboxStatus(all: readonly GuestStartHealth[], insecure: boolean): SandboxStatus {
  const down = all.find(({ unavailable }) => unavailable);
  if (down) return { state: "unavailable", reason: down.reason!, insecure };
  const up = all.filter(({ ready }) => ready);
  if (up.length === 0) {
    const reason = all.find(({ failing }) => failing)?.reason;
    return { state: "starting", ...(reason !== undefined && { reason }), insecure };
  }
  const gap = up.map(({ confinementGap }) => confinementGap).find((it) => it !== undefined);
  if (gap === undefined) return { state: "ready", insecure: false };
  return { state: "ready", reason: gap, insecure };
}
