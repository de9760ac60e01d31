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

/**
 * Probability with which the failures of an event without fault are chance, at and below which the
 * event counts as the cause of its failures.
 */
const CHANCE_MIN = 1e-6;

/** Failures of an event, and how others fared since the first of them. */
export interface EventFailures {
  /** Number of failed attempts to deliver the event alone that count against it. */
  count: number;
  othersFailed: number;
  othersTaken: number;
}

/**
 * Whether an event is at fault, because it has failed so often, while others were taken, that it
 * cannot be chance. It is then given up before the retry window ends, so that it does not delay its
 * user's other events.
 */
export function isPoison({ count, othersFailed, othersTaken }: EventFailures): boolean {
  if (count < POISON_ATTEMPTS_MAX || othersTaken === 0) return false;
  const chance = othersFailed / (othersTaken + othersFailed);
  return chance ** count <= CHANCE_MIN;
}
