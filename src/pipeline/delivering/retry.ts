import { backoffMs } from "../../concurrency/backoff.ts";
import {
  POISON_ATTEMPTS_MIN,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../settings/limits.ts";

/**
 * Returns the milliseconds until the next attempt. The delay grows exponentially with `attempts`,
 * the number of failed attempts (at least 1). `random` (from 0 to 1) varies the delay, so that
 * queues that failed together do not retry together. The result is at least `afterMs`, the delay
 * that the receiver asks for.
 */
export function retryDelayMs(attempts: number, random: number, afterMs = 0): number {
  const ceiling = backoffMs(attempts, RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  return Math.max(ceiling * random, afterMs);
}

/**
 * Probability below which an event's failures do not count as chance: the event is then their
 * cause.
 */
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
 * and it has failed more often than chance explains. Such an event is given up before its retry
 * window ends, so that it does not hold back its user's other events.
 */
export function isPoison({ count, othersFailed, othersTaken }: EventFailures): boolean {
  if (count < POISON_ATTEMPTS_MIN || othersTaken === 0) return false;
  const chance = othersFailed / (othersTaken + othersFailed);
  return chance ** count <= CHANCE_MAX;
}
