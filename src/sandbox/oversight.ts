import type { Exchange } from "./guest-channel.ts";
import type { GuestEnd } from "./guest-end.ts";
import type { LanguageTerms } from "./languages.ts";
import { type Usage, usage } from "./proc.ts";
import { GUEST_BURST_CPU_MS_MAX } from "./rota.ts";

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
export class Oversight {
  /** Memory of the guest when it was idle, and at the last look. */
  idleBytes = 0;
  residentBytes = 0;
  /** Memory that the guest's end would give back. */
  ownBytes = 0;

  readonly #pid: number;
  readonly #terms: LanguageTerms;
  #lookedAt = performance.now();
  #last: Usage | undefined;
  /** The exchange that the guest worked on at the last look. */
  #exchange: Exchange | undefined;
  /** Debt: CPU time beyond the due share; and CPU time that was used while idle. */
  #debtMs = 0;
  #idleDebtMs = 0;
  #sleeps = true;

  constructor(pid: number, terms: LanguageTerms) {
    this.#pid = pid;
    this.#terms = terms;
  }

  /** Near the end of its memory, as far as was seen. */
  get bloated(): boolean {
    return this.residentBytes > this.idleBytes + this.#terms.recycleBytes;
  }

  get sleeps(): boolean {
    return this.#sleeps;
  }

  get debtMs(): number {
    return this.#debtMs;
  }

  /** Takes over what another guest of its workspace owed. */
  owe(debtMs: number): void {
    this.#debtMs = bounded(debtMs);
  }

  /** The guest has started; what the start used does not count. */
  begin(): void {
    this.#last = usage(this.#pid);
    this.#lookedAt = performance.now();
    this.idleBytes = this.#last?.residentBytes ?? 0;
    this.ownBytes = this.#last?.ownBytes ?? 0;
  }

  /** Whether to look at an idle guest: one that owes something is looked at each time. */
  isDue(now: number): boolean {
    return this.#debtMs > 0 || now - this.#lookedAt >= GUEST_IDLE_POLL_MS;
  }

  /**
   * Returns why the guest has to end; undefined when all is well. `dueShare` is the part of a
   * processor that the guest may use without debt; 0 while it is paused.
   */
  look(exchange: Exchange | undefined, graceMs: number, dueShare: number): GuestEnd | undefined {
    const now = performance.now();
    const wallMs = exchange && (exchange.waitingSince ?? now) - exchange.startedAt;
    const used = usage(this.#pid);
    if (used) {
      this.residentBytes = used.residentBytes;
      this.ownBytes = used.ownBytes;
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

  #account(used: Usage, exchange: Exchange | undefined, elapsedMs: number, share: number): void {
    const cpuMs = used.cpuMs - this.#last!.cpuMs;
    if (exchange?.patient && cpuMs > 0) exchange.startedAt = performance.now();
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
  exchange: Exchange,
  graceMs: number,
  wallMs: number,
  used: Usage | undefined,
): boolean {
  if (wallMs > exchange.wallMs) return true;
  // Without /proc only the clock can tell.
  if (!used) return wallMs > exchange.cpuMs + graceMs;
  exchange.atStart ??= used;
  const mainMs = used.mainCpuMs - exchange.atStart.mainCpuMs;
  const allMs = used.cpuMs - exchange.atStart.cpuMs;
  return mainMs > exchange.cpuMs + graceMs || allMs > ALL_THREADS * exchange.cpuMs + graceMs;
}
