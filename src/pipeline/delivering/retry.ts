import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MIN,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Returns the milliseconds until the next attempt: the share `random` (0 to 1) of a maximum that
 * grows exponentially with the number of failed attempts (at least 1), but at least `afterMs`, for
 * which the receiver has asked.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

/** Maximum p-value (probability of chance) for an event to count as the cause of its failures. */
const CHANCE_MAX = 1e-6;

/** Failures of one event, and the results of other events since its first failure. */
export interface EventFailures {
  /**
   * Number of failed attempts that count against the event. In each, the request held only this
   * event.
   */
  count: number;
  othersFailed: number;
  othersTaken: number;
}

/**
 * Whether an event causes its failures: other events were accepted since its first failure, and
 * chance hardly explains its failures, given how often other events fail. Always false below
 * `POISON_ATTEMPTS_MIN` failures.
 */
export function isPoison({ count, othersFailed, othersTaken }: EventFailures): boolean {
  if (count < POISON_ATTEMPTS_MIN || othersTaken === 0) return false;
  const chance = othersFailed / (othersTaken + othersFailed);
  return chance ** count <= CHANCE_MAX;
}
