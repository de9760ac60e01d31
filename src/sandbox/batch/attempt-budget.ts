import { GUEST_SHORT_CPU_MS_MAX } from "../../settings/limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { LoadFailure } from "../protocol/guest-protocol.ts";

/**
 * Fraction of the CPU budget that an event must have used to be blamed when its code runs out of
 * clock time. With less, the machine was too busy, and the event runs again with more clock time.
 */
const BLAMED_SHARE = 0.75;
/**
 * Longest clock time of an attempt, as a multiple of the CPU limit. An event whose code does not
 * end in this time fails, even if it got little CPU time.
 */
const CLOCK_FACTOR_MAX = 16;
/**
 * Fraction that is added to the computed clock time of the next attempt, because the load of the
 * machine varies.
 */
const CLOCK_ROOM = 0.1;
/**
 * Smallest factor by which the clock time grows after an attempt whose clock time was too short.
 * The factor is computed from the CPU time used, and may be too small, because CPU time is measured
 * only roughly.
 */
const GROWTH_MIN = 2;
/**
 * Smallest share of the CPU limit `cpuMs` that one event gets in a new guest (process that runs
 * user code), because a fresh interpreter compiles itself while it runs the first events. An event
 * of a program without a recent success (`isSuspect` of `begin`) gets exactly this share. The
 * server does not kill a guest that has used less.
 */
const COLD_SHARE = 0.25;
/**
 * Multiple of the CPU limit after which the server kills a guest process that loads a program
 * again. It is above 1, because the kill also ends the guest's other programs.
 */
const LOAD_KILL_FACTOR = 2;

/** CPU time and clock time that the attempts to load code, or to run events of a batch, may use. */
export class AttemptBudget {
  /** Ratio of clock time to CPU time. Above 1 while the guest process gets too little CPU. */
  #slowness = 1;
  /** CPU time in ms that the code may use in the current attempt. */
  cpuMs: number;

  /**
   * `culpritsMax` is the number of events that may use up the whole CPU limit. After them, each
   * event gets only a short CPU time.
   */
  constructor(
    private readonly limits: SandboxLimits,
    private readonly culpritsMax: number,
  ) {
    this.cpuMs = limits.cpuMs;
  }

  beginLoad(): void {
    this.cpuMs = this.limits.cpuMs;
  }

  /**
   * Sets the CPU time of an attempt to run events of the batch. `culprits` is the number of the
   * batch's events that have used up their time. `isWarm` tells whether the guest process has run
   * events before. `isSuspect` tells whether no event of the program has succeeded since one used
   * up its time.
   */
  begin(culprits: number, isWarm: boolean, isSuspect: boolean): void {
    const { cpuMs } = this.limits;
    const coldMs = COLD_SHARE * cpuMs;
    const shortMs = Math.max(GUEST_SHORT_CPU_MS_MAX, isWarm ? 0 : coldMs);
    if (culprits >= this.culpritsMax) this.cpuMs = Math.min(cpuMs, shortMs);
    else this.cpuMs = isSuspect ? coldMs : cpuMs;
  }

  /** Clock time in ms after which the guest process stops the code of the current attempt. */
  get clockMs(): number {
    return Math.min(this.cpuMs * this.#slowness, this.#clockMsMax);
  }

  /**
   * CPU time in ms after which the server kills a guest process that does not stop loading code. It
   * may exceed `cpuMs`, because the guest stops the code by clock time. When the machine is less
   * busy than expected, the code gets more CPU time by then.
   */
  get loadKillMs(): number {
    return Math.min(LOAD_KILL_FACTOR * this.cpuMs, this.clockMs);
  }

  /** CPU time in ms after which the server kills a guest process that does not stop its events. */
  get killMs(): number {
    return Math.max(this.cpuMs, COLD_SHARE * this.limits.cpuMs);
  }

  /**
   * Returns whether code that could not be loaded has to be loaded again, because the machine was
   * too busy. If so, the next attempts get a longer clock time.
   */
  mustLoadAgain({ usedMs }: LoadFailure): boolean {
    this.beginLoad();
    return usedMs !== undefined && !this.isUsedUp(usedMs, true);
  }

  /**
   * Returns whether an event whose code was stopped has used up its time. `usedMs` is the CPU time
   * of this event alone. `hadWholeAttempt` tells whether no other event ran before it in the
   * attempt. If none did, the event has also used up its time when it ran for the longest clock
   * time. If it has not used it up, the machine was too busy, and the next attempts get more clock
   * time.
   */
  isUsedUp(usedMs: number, hadWholeAttempt: boolean): boolean {
    const isOver = this.isProof(usedMs) || (hadWholeAttempt && this.clockMs >= this.#clockMsMax);
    if (hadWholeAttempt && !isOver) {
      const needed = ((1 + CLOCK_ROOM) * this.cpuMs) / usedMs;
      this.#slowness *= Math.min(CLOCK_FACTOR_MAX, Math.max(GROWTH_MIN, needed));
    }
    // An attempt that got twice its CPU time shows that the machine is less busy. Until such an
    // attempt, later events begin with the longer clock time.
    if (usedMs >= 2 * this.cpuMs) this.#slowness = 1;
    return isOver;
  }

  /** Returns whether an event that used `usedMs` of CPU time would fail on an idle machine too. */
  isProof(usedMs: number): boolean {
    return usedMs >= BLAMED_SHARE * this.cpuMs;
  }

  get #clockMsMax(): number {
    return CLOCK_FACTOR_MAX * this.limits.cpuMs;
  }
}
