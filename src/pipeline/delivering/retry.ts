import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MIN,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Returns the delay in milliseconds until the next attempt. It is a random share of a maximum that
 * grows exponentially with `attempts`, the number of failed attempts (at least 1). `random` (from 0
 * to 1) is this share; it keeps queues that failed together from retrying together. The delay is at
 * least `afterMs`, which the receiver asks for.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

/** Maximum probability at which failures do not count as chance: the event is then their cause. */
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
 * Returns whether an event causes its failures: other events were accepted since its first failure,
 * and it is unlikely that it failed so often by chance, given how often other events fail. Such an
 * event is given up before its retry window ends, so that it does not hold back its user's other
 * events.
 */
export function isPoison({ count, othersFailed, othersTaken }: EventFailures): boolean {
  if (count < POISON_ATTEMPTS_MIN || othersTaken === 0) return false;
  const chance = othersFailed / (othersTaken + othersFailed);
  return chance ** count <= CHANCE_MAX;
}
