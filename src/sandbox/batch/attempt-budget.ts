import { GUEST_SHORT_CPU_MS_MAX } from "../../settings/limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { LoadFailure } from "../protocol/guest-protocol.ts";

/**
 * Fraction of the CPU budget above which an event is blamed when its code runs out of clock time.
 * If the event has used less, the machine was too busy, and the event runs again with more clock
 * time.
 */
const BLAMED_SHARE = 0.75;
/**
 * Longest clock time of an attempt, as a multiple of the CPU limit. An event whose code does not
 * end in this time fails, even if it got little CPU time.
 */
const CLOCK_FACTOR_MAX = 16;
/**
 * Safety margin for the clock time of the next attempt, as a fraction of the computed time. It is
 * needed because the load of the machine varies.
 */
const CLOCK_ROOM = 0.1;
/**
 * Minimum factor by which the clock time grows after an attempt whose clock time was too short. The
 * factor computed from the used CPU time may be too small, because CPU time is measured only
 * roughly.
 */
const GROWTH_MIN = 2;
/**
 * Minimum CPU time of one event in a new guest (process that runs user code), as a fraction of the
 * CPU limit `cpuMs`. A fresh interpreter needs this time, because it compiles itself while it runs
 * the first events. An event of a program without a recent success (`isSuspect` of `begin`) gets
 * exactly this time. The server does not kill a guest that has used less.
 */
const COLD_SHARE = 0.25;
/**
 * Multiple of the CPU limit at which the server kills a guest process that does not stop loading a
 * program. It is above 1, because the kill also ends the other programs of the guest.
 */
const LOAD_KILL_FACTOR = 2;

/**
 * Computes the limits of CPU time and clock time for each attempt to load code or to run events of
 * a batch.
 */
export class AttemptBudget {
  /**
   * Ratio of the clock time limit to the CPU time limit. It grows above 1 when the guest process
   * gets too little CPU time.
   */
  #slowness = 1;
  /** CPU time in ms that the code may use in the current attempt. */
  cpuMs: number;

  /**
   * `culpritsMax` is the number of events that may use up the whole CPU limit. Once that many
   * events have done so, each further event gets only a short CPU time.
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
   * Sets the CPU time of an attempt to run events of the batch. `culprits` is the number of events
   * of the batch that have used up their time. `isWarm` is true if the guest process has run events
   * before. `isSuspect` is true if an event of the program has used up its time, and none has
   * succeeded since.
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
   * may exceed `cpuMs`: the guest stops the code by clock time, and on a machine that is less busy
   * than expected, the code gets more CPU time in the same clock time.
   */
  get loadKillMs(): number {
    return Math.min(LOAD_KILL_FACTOR * this.cpuMs, this.clockMs);
  }

  /** CPU time in ms after which the server kills a guest process that does not stop its events. */
  get killMs(): number {
    return Math.max(this.cpuMs, COLD_SHARE * this.limits.cpuMs);
  }

  /**
   * Returns whether code that failed to load has to be loaded again, because the machine was too
   * busy. If so, the next attempts get more clock time.
   */
  mustLoadAgain({ usedMs }: LoadFailure): boolean {
    this.beginLoad();
    return usedMs !== undefined && !this.isUsedUp(usedMs, true);
  }

  /**
   * Returns whether an event whose code was stopped has used up its time. `usedMs` is the CPU time
   * of this event alone. `hadWholeAttempt` is true if no other event ran before it in the attempt.
   * In this case, the event has also used up its time when the attempt had the longest clock time;
   * if it has not used up its time, the machine was too busy, and the next attempts get more clock
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

  /**
   * Returns whether `usedMs` of CPU time prove that the event is too slow, so that it would fail on
   * an idle machine too.
   */
  isProof(usedMs: number): boolean {
    return usedMs >= BLAMED_SHARE * this.cpuMs;
  }

  get #clockMsMax(): number {
    return CLOCK_FACTOR_MAX * this.limits.cpuMs;
  }
}
