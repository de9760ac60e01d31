import { backoffMs } from "../../backoff.ts";
import { POISON_ATTEMPTS_MAX, RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN } from "../../limits.ts";

/**
 * Milliseconds until the next attempt: exponential with full jitter, so that queues which
 * failed together do not come back together. A wish of the receiver is a lower bound.
 * `attempts`: how many have failed, from 1.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

export interface Failing {
  /** Attempts made so far, all failed. */
  attempts: number;
  /** Since it was received, or since its replay was asked for. */
  ageMs: number;
  /** Other attempts of the lane since this event first failed. */
  othersDelivered: number;
  othersFailed: number;
}

/**
 * Whether to give an event up. A destination that is down or overloaded gets the whole window;
 * when most others get through meanwhile it is the event that is wrong, and it stops blocking
 * its user sooner.
 */
export function isHopeless(failing: Failing, windowMs: number): boolean {
  const { attempts, ageMs, othersDelivered, othersFailed } = failing;
  if (attempts === 0) return false;
  if (ageMs > windowMs) return true;
  return attempts >= POISON_ATTEMPTS_MAX && othersDelivered > othersFailed;
}
