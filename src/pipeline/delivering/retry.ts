import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MAX,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Milliseconds until the next attempt: exponential with full jitter, so that queues which failed
 * together do not come back together. `afterMs`, the receiver's own wish, is a lower bound.
 * `attempts` is how many have failed, from 1.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

export interface FailedAttempts {
  /** Attempts made so far, all failed. */
  attempts: number;
  /** Time since the event was received, or since its replay was requested. */
  ageMs: number;
  /** Attempts of the lane's other events since this event first failed. */
  othersDelivered: number;
  othersFailed: number;
}

/**
 * Whether an event is given up. While a destination is down or overloaded, an event is tried for
 * the
 * whole retry window. When most other events get through meanwhile, the event itself is wrong, and
 * is given up sooner, so that it stops blocking its user's other events.
 */
export function isGivenUp(failing: FailedAttempts, windowMs: number): boolean {
  const { attempts, ageMs, othersDelivered, othersFailed } = failing;
  if (attempts === 0) return false;
  if (ageMs > windowMs) return true;
  return attempts >= POISON_ATTEMPTS_MAX && othersDelivered > othersFailed;
}
