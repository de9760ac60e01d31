import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MAX,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Returns the milliseconds until the next attempt. The delay grows exponentially with `attempts`,
 * the number of failed attempts, at least 1. `random`, from 0 to 1, spreads the delay, so that
 * queues that failed together do not retry together. `afterMs`, the delay that the receiver asks
 * for, is a lower bound.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

/**
 * Largest probability of an event's failures by chance at which the event itself counts as their
 * cause.
 */
const CHANCE_MIN = 1e-6;

/** Failures of one event, and the results of other events since its first failure. */
export interface EventFailures {
  /**
   * Number of failed attempts to deliver the event in a request of its own that count against it.
   */
  count: number;
  othersFailed: number;
  othersTaken: number;
}

/**
 * Whether an event is the cause of its failures: it has failed so often, while others were
 * accepted, that it cannot be chance. The event is then given up before the retry window ends, so
 * that it does not delay its user's other events.
 */
export function isPoison({ count, othersFailed, othersTaken }: EventFailures): boolean {
  if (count < POISON_ATTEMPTS_MAX || othersTaken === 0) return false;
  const chance = othersFailed / (othersTaken + othersFailed);
  return chance ** count <= CHANCE_MIN;
}
