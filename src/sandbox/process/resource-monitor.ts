import { GUEST_BURST_CPU_MS_MAX } from "../guest-limits.ts";
import type { GuestExchange } from "./guest-channel.ts";
import type { GuestEndCause } from "./guest-end.ts";
import type { LanguageProfile } from "./language-profiles.ts";
import { type ProcessUsage, readProcessUsage } from "./process-usage.ts";

/** Idle guests are looked at this often. */
const GUEST_IDLE_POLL_MS = 1_000;

/** Debt beyond this is forgiven. */
const DEBT_MS_MAX = 4 * GUEST_BURST_CPU_MS_MAX;
/** Share of a processor that a runtime may use while it is idle. */
const IDLE_CPU_SHARE = 0.05;
/** A guest that uses less than this share of a processor counts as asleep. */
const AWAKE_CPU_SHARE = 0.2;
/** All threads together may use this multiple of the CPU time that user code has. */
const ALL_THREADS = 3;

/** Looks at what a guest uses of the machine, and tells when it is more than it may. */
export class ResourceMonitor {
  /** Memory of the guest when it was idle, and at the last look. */
  idleBytes = 0;
  residentBytes = 0;
  /** Memory that the guest's end would give back. */
  anonymousBytes = 0;

  readonly #pid: number;
  readonly #terms: LanguageProfile;
  #lookedAt = performance.now();
  #last: ProcessUsage | undefined;
  /** The exchange that the guest worked on at the last look. */
  #exchange: GuestExchange | undefined;
  /** Debt: CPU time beyond the due share; and CPU time that was used while idle. */
  #debtMs = 0;
  #idleDebtMs = 0;
  #sleeps = true;

  constructor(pid: number, terms: LanguageProfile) {
    this.#pid = pid;
    this.#terms = terms;
  }

  /** Near the end of its memory, as far as was seen. */
  get isNearMemoryLimit(): boolean {
    return this.residentBytes > this.idleBytes + this.#terms.recycleBytes;
  }

  get sleeps(): boolean {
    return this.#sleeps;
  }

  get cpuDebtMs(): number {
    return this.#debtMs;
  }

  /** Takes over what another guest of its workspace owed. */
  setCpuDebt(debtMs: number): void {
    this.#debtMs = bounded(debtMs);
  }

  /** The guest has started; what the start used does not count. */
  start(): void {
    this.#last = readProcessUsage(this.#pid);
    this.#lookedAt = performance.now();
    this.idleBytes = this.#last?.residentBytes ?? 0;
    this.anonymousBytes = this.#last?.anonymousBytes ?? 0;
  }

  /** Whether to look at an idle guest: one that owes something is looked at each time. */
  isDue(now: number): boolean {
    return this.#debtMs > 0 || now - this.#lookedAt >= GUEST_IDLE_POLL_MS;
  }

  /**
   * Returns why the guest has to end; undefined when all is well. `dueShare` is the part of a
   * processor that the guest may use without debt; 0 while it is paused.
   */
  measure(
    exchange: GuestExchange | undefined,
    graceMs: number,
    dueShare: number,
  ): GuestEndCause | undefined {
    const now = performance.now();
    const wallMs = exchange && (exchange.waitingSince ?? now) - exchange.startedAt;
    const used = readProcessUsage(this.#pid);
    if (used) {
      this.residentBytes = used.residentBytes;
      this.anonymousBytes = used.anonymousBytes;
      if (this.#last) this.#account(used, exchange, now - this.#lookedAt, dueShare);
      this.#last = used;
      this.#lookedAt = now;
    }
    this.#exchange = exchange;
    if (this.residentBytes > this.idleBytes + this.#terms.memoryBytesMax) return "memory";
    if (this.idleBytes > 0 && used && used.threads > this.#terms.threadsMax) return "threads";
    if (this.#idleDebtMs > this.#terms.idleCpuMsMax) return "idle";
    if (exchange && isOver(exchange, graceMs, wallMs!, used)) return "timeout";
    return undefined;
  }

  #account(
    used: ProcessUsage,
    exchange: GuestExchange | undefined,
    elapsedMs: number,
    share: number,
  ): void {
    const cpuMs = used.cpuMs - this.#last!.cpuMs;
    if (exchange?.restartsClockOnCpu && cpuMs > 0) exchange.startedAt = performance.now();
    if (exchange?.meter) exchange.meter.cpuMs += cpuMs;
    this.#debtMs = bounded(this.#debtMs + cpuMs - share * elapsedMs);
    const asleep = !exchange || exchange.waitingSince !== undefined;
    if (!asleep) this.#sleeps = false;
    else if (share > 0) this.#sleeps = cpuMs < AWAKE_CPU_SHARE * elapsedMs;
    if (exchange || this.#exchange) return;
    this.#idleDebtMs = Math.max(0, this.#idleDebtMs + cpuMs - IDLE_CPU_SHARE * elapsedMs);
  }
}

function bounded(debtMs: number): number {
  return Math.min(DEBT_MS_MAX, Math.max(0, debtMs));
}

function isOver(
  exchange: GuestExchange,
  graceMs: number,
  wallMs: number,
  used: ProcessUsage | undefined,
): boolean {
  if (wallMs > exchange.wallMs) return true;
  // Without /proc only the clock can tell.
  if (!used) return wallMs > exchange.cpuMs + graceMs;
  exchange.atStart ??= used;
  const mainMs = used.mainCpuMs - exchange.atStart.mainCpuMs;
  const allMs = used.cpuMs - exchange.atStart.cpuMs;
  return mainMs > exchange.cpuMs + graceMs || allMs > ALL_THREADS * exchange.cpuMs + graceMs;
}
