import { assert } from "../../assert.ts";
import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";
import type { GuestExchange } from "./guest-channel.ts";
import type { GuestEndCause } from "./guest-end.ts";
import type { LanguageProfile } from "./language-profiles.ts";
import { type ProcessUsage, readProcessUsage } from "./process-usage.ts";

/** Milliseconds between two measurements of a guest that has no request and no CPU debt. */
const GUEST_IDLE_POLL_MS = 1_000;

/**
 * Upper bound in milliseconds of a guest process's CPU debt, the CPU time that it used beyond its
 * fair share.
 */
const DEBT_MS_MAX = 4 * GUEST_BURST_CPU_MS_MAX;
/**
 * Fraction of one processor that a guest process may use permanently while it has no request,
 * because its language runtime needs some CPU time even then.
 */
const IDLE_CPU_SHARE = 0.05;
/**
 * CPU use, as a fraction of one processor, below which a guest process counts as idle while it has
 * no request or waits for results of host calls.
 */
const AWAKE_CPU_SHARE = 0.2;
/**
 * Factor by which the CPU time of all threads of a guest process may exceed the CPU time limit of
 * user code, which runs in the main thread only.
 */
const ALL_THREADS = 3;

/**
 * Milliseconds that each millisecond of used CPU time adds to a request's wall-clock limit
 * `wallMs`. The limit therefore stops code that sleeps, but not code that gets at least a twentieth
 * of a processor.
 */
const CLOCK_PER_CPU = 20;

/** Measures the resources that a guest process uses, and reports which limit the guest exceeds. */
export class ResourceMonitor {
  /** Resident memory in bytes of the guest process after its start, when it was idle. */
  idleBytes = 0;
  /** Resident memory in bytes of the guest process at the last measurement. */
  residentBytes = 0;
  /**
   * Memory in bytes that the system would get back if the guest process ended, according to the
   * last measurement.
   */
  anonymousBytes = 0;
  isIdle = true;

  #measuredAt = performance.now();
  #last: ProcessUsage | undefined;
  /**
   * The exchange (request and reply) in progress at the last measurement; undefined if none was.
   */
  #exchange: GuestExchange | undefined;
  /**
   * CPU time in milliseconds that the guest process has used beyond its fair share; 0 when it has
   * used less than that.
   */
  #cpuDebtMs = 0;
  /**
   * CPU time in milliseconds that the guest process has used while it had no request, beyond the
   * share `IDLE_CPU_SHARE` of the elapsed time.
   */
  #idleDebtMs = 0;

  constructor(
    private readonly pid: number,
    private readonly profile: LanguageProfile,
    private readonly read = readProcessUsage,
  ) {}

  /**
   * Whether the guest process used more memory at the last measurement than `recycleBytes` of its
   * language permits, so that it should be replaced.
   */
  get isNearMemoryLimit(): boolean {
    return this.residentBytes > this.idleBytes + this.profile.recycleBytes;
  }

  get cpuDebtMs(): number {
    return this.#cpuDebtMs;
  }

  /**
   * Sets the CPU debt to `debtMs`, limited to the range from 0 to `DEBT_MS_MAX`. A new guest
   * process gets the debt of its workspace's last guest in this way.
   */
  setCpuDebt(debtMs: number): void {
    const bounded = Math.min(DEBT_MS_MAX, Math.max(0, debtMs));
    // The comparison is also false for NaN.
    assert(bounded >= 0, "CPU debt is a number of milliseconds that is not negative");
    this.#cpuDebtMs = bounded;
  }

  /**
   * Begins the measurements. CPU time that the guest process has used before does not count. Called
   * when the guest has started.
   */
  start(): void {
    this.#last = this.read(this.pid);
    this.#measuredAt = performance.now();
    this.idleBytes = this.#last?.residentBytes ?? 0;
    this.anonymousBytes = this.#last?.anonymousBytes ?? 0;
  }

  /**
   * Whether a guest process without a request must be measured at the time `now`: always if it has
   * a CPU debt, otherwise `GUEST_IDLE_POLL_MS` after its last measurement.
   */
  isDue(now: number): boolean {
    return this.#cpuDebtMs > 0 || now - this.#measuredAt >= GUEST_IDLE_POLL_MS;
  }

  /**
   * Measures the guest process. Returns why it must be killed, or undefined if it exceeds no limit.
   * - `graceMs`: milliseconds that are added to the limits of time
   * - `fairShare`: fraction of a processor (0 while paused) beyond which CPU time is added to the
   *   CPU debt
   */
  measure(
    exchange: GuestExchange | undefined,
    graceMs: number,
    fairShare: number,
  ): GuestEndCause | undefined {
    const now = performance.now();
    const usage = this.read(this.pid);
    if (usage) {
      this.residentBytes = usage.residentBytes;
      this.anonymousBytes = usage.anonymousBytes;
      if (this.#last) this.#account(usage, exchange, now - this.#measuredAt, fairShare);
      this.#last = usage;
      this.#measuredAt = now;
    }
    this.#exchange = exchange;
    if (this.residentBytes > this.idleBytes + this.profile.memoryBytesMax) return "memory";
    if (this.idleBytes > 0 && usage && usage.threads > this.profile.threadsMax) return "threads";
    if (this.#idleDebtMs > this.profile.idleCpuMsMax) return "idle";
    if (exchange && isOverTime(exchange, graceMs, now, usage)) return "timeout";
    return undefined;
  }

  #account(
    usage: ProcessUsage,
    exchange: GuestExchange | undefined,
    elapsedMs: number,
    share: number,
  ): void {
    const cpuMs = usage.cpuMs - this.#last!.cpuMs;
    if (exchange?.restartsClockOnCpu && cpuMs > 0) exchange.startedAt = performance.now();
    if (exchange?.meter) exchange.meter.cpuMs += cpuMs;
    this.setCpuDebt(this.#cpuDebtMs + cpuMs - share * elapsedMs);
    const hasNoWork = !exchange || exchange.waitingSince !== undefined;
    if (!hasNoWork) this.isIdle = false;
    else if (share > 0) this.isIdle = cpuMs < AWAKE_CPU_SHARE * elapsedMs;
    if (exchange || this.#exchange) return;
    this.#idleDebtMs = Math.max(0, this.#idleDebtMs + cpuMs - IDLE_CPU_SHARE * elapsedMs);
  }
}

function isOverTime(
  exchange: GuestExchange,
  graceMs: number,
  now: number,
  usage: ProcessUsage | undefined,
): boolean {
  const wallMs = (exchange.waitingSince ?? now) - exchange.startedAt;
  // Without /proc only the clock limits a guest.
  if (!usage) return wallMs > Math.min(exchange.wallMs, exchange.cpuMs + graceMs);
  exchange.usageAtStart ??= usage;
  const mainMs = usage.mainCpuMs - exchange.usageAtStart.mainCpuMs;
  if (wallMs > exchange.wallMs + CLOCK_PER_CPU * mainMs) return true;
  const allMs = usage.cpuMs - exchange.usageAtStart.cpuMs;
  return mainMs > exchange.cpuMs + graceMs || allMs > ALL_THREADS * exchange.cpuMs + graceMs;
}
