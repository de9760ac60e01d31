import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MAX,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Milliseconds until the next attempt. The delay grows exponentially with `attempts`, the number of
 * failed attempts, at least 1. `random`, from 0 to 1, spreads it, so that queues that failed
 * together do not retry together. `afterMs`, the delay that the receiver asks for, is a lower
 * bound.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

export interface FailedAttempts {
  /** Number of attempts to deliver the event so far, all of which failed. */
  attempts: number;
  /** Milliseconds since the event was received, or since its replay was requested. */
  ageMs: number;
  /**
   * Number of successful deliveries of the lane's other events since this event first failed.
   * `othersFailed` is the number of failed ones.
   */
  othersDelivered: number;
  othersFailed: number;
}

/**
 * Whether to stop trying an event. While the destination is down, an event is tried for the whole
 * retry window `windowMs`. When most other events are delivered meanwhile, the fault is in the
 * event itself. It is then given up sooner, so that it does not block its user's other events.
 */
export function isGivenUp(failing: FailedAttempts, windowMs: number): boolean {
  const { attempts, ageMs, othersDelivered, othersFailed } = failing;
  if (attempts === 0) return false;
  if (ageMs > windowMs) return true;
  return attempts >= POISON_ATTEMPTS_MAX && othersDelivered > othersFailed;
}
