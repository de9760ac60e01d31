import { GUEST_SHORT_CPU_MS_MAX } from "../../settings/limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { LoadFailure } from "../protocol/guest-protocol.ts";

/**
 * Fraction of the CPU limit from which an event is blamed when its code runs out of wall-clock
 * time. With less CPU time, the event runs again with more wall-clock time, because the machine was
 * too busy.
 */
const BLAMED_SHARE = 0.75;
/**
 * Longest wall-clock time of an attempt, as a multiple of the CPU limit. An event whose code does
 * not end in this time fails, even if it got little CPU time.
 */
const CLOCK_FACTOR_MAX = 16;
/**
 * Safety margin for the wall-clock time of the next attempt, as a fraction of the computed time. It
 * is needed because the load of the machine varies.
 */
const CLOCK_ROOM = 0.1;
/**
 * Minimum factor by which the limit of wall-clock time grows after an attempt for which the limit
 * was too short. The factor computed from the used CPU time may be too small, because CPU time is
 * measured only roughly.
 */
const GROWTH_MIN = 2;
/**
 * Fraction of the CPU limit that is
 * - the minimum CPU time of an attempt to run events in a new guest process, because a fresh
 *   interpreter compiles itself during the first events
 * - the maximum CPU time of an attempt of a suspect program (see `isSuspect` of `begin`)
 * - the minimum of `killMs`
 */
const COLD_SHARE = 0.25;
/**
 * Maximum CPU time for loading a program, as a multiple of the CPU limit. Beyond it, the server
 * kills the guest process. Above 1, because a guest that stops a long load by itself keeps its
 * other programs.
 */
const LOAD_KILL_FACTOR = 2;

/**
 * Computes the limits of CPU time and wall-clock time for each attempt to load code or to run
 * events of a batch.
 */
export class AttemptBudget {
  /**
   * Ratio of the limit of wall-clock time to the limit of CPU time. It grows above 1 when the guest
   * process gets too little CPU time.
   */
  #slowness = 1;
  /** CPU time in ms that the code may use in the current attempt. */
  cpuMs: number;

  /**
   * `culpritsMax` is the number of events of the batch that may use up the whole CPU limit. Once
   * that many events have done so, each further event gets only a short CPU time.
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
   * Sets the CPU time of an attempt to run events.
   * - `culprits`: number of events of the batch that have used up their time or ended their guest
   *   process
   * - `isWarm`: whether the guest process has run events before
   * - `isSuspect`: whether the program had such an event, in this or another batch, and no
   *   successful event since then or in the last `SUSPENSION_GOOD_MS`
   */
  begin(culprits: number, isWarm: boolean, isSuspect: boolean): void {
    const { cpuMs } = this.limits;
    const coldMs = COLD_SHARE * cpuMs;
    const shortMs = Math.max(GUEST_SHORT_CPU_MS_MAX, isWarm ? 0 : coldMs);
    if (culprits >= this.culpritsMax) this.cpuMs = Math.min(cpuMs, shortMs);
    else this.cpuMs = isSuspect ? coldMs : cpuMs;
  }

  /** Wall-clock duration of an attempt, in ms, after which a JavaScript guest stops the code. */
  get clockMs(): number {
    return Math.min(this.cpuMs * this.#slowness, this.#clockMsMax);
  }

  /**
   * CPU time in ms after which the server kills a guest process that is still loading code. It may
   * exceed the CPU limit, because a JavaScript guest should first stop the load by itself after
   * `clockMs` of wall-clock time.
   */
  get loadKillMs(): number {
    return Math.min(LOAD_KILL_FACTOR * this.cpuMs, this.clockMs);
  }

  /**
   * CPU time in ms after which the server kills a guest process that does not stop by itself while
   * it runs events.
   */
  get killMs(): number {
    return Math.max(this.cpuMs, COLD_SHARE * this.limits.cpuMs);
  }

  /**
   * Returns whether code that failed to load has to be loaded again, because the machine was too
   * busy. If so, the next attempts get more wall-clock time.
   */
  mustLoadAgain({ usedMs }: LoadFailure): boolean {
    this.beginLoad();
    return usedMs !== undefined && !this.isUsedUp(usedMs, true);
  }

  /**
   * Returns whether an event has used up its time when its code was stopped. If the result is false
   * and `hadWholeAttempt` is true, the next attempts get more wall-clock time.
   * - `usedMs`: CPU time of this event alone
   * - `hadWholeAttempt`: whether no other event ran before it in the attempt
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
