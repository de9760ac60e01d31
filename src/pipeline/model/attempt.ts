import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import type { DeliveryResult } from "../../destinations/destination.ts";

/** Reason why events were not delivered. It has no secrets: it may be stored, logged and shown. */
export interface FailureCause {
  reason: string;
  /** The answer of the receiver; absent when it did not answer. */
  response?: ShownAnswer | undefined;
}

/**
 * A failed attempt to deliver a batch, or an attempt in which the receiver refused some events of
 * the batch.
 */
export interface FailedAttempt {
  /** Start of the attempt in milliseconds since the epoch. */
  at: number;
  durationMs: number;
  /**
   * Why the whole attempt failed. Absent when the receiver refused single events, each for a reason
   * of its own.
   */
  reason?: string;
  status?: number;
}

type ResultOf<Kind extends DeliveryResult["kind"]> = Extract<DeliveryResult, { kind: Kind }>;

/** The result of one attempt: a `DeliveryResult` without secrets. */
export type AttemptResult = {
  /** Record of the whole attempt. Absent if the receiver accepted all events of the attempt. */
  attempt?: FailedAttempt;
} & (
  | ResultOf<"delivered">
  | (Omit<ResultOf<"rejected">, "answer"> & FailureCause)
  | (Omit<ResultOf<"retry">, "answer"> &
      FailureCause & {
        /**
         * Whether the destination's config was replaced during the attempt. The events are then
         * sent again at once, with the new config.
         */
        isOutdated?: boolean;
      })
);

/**
 * Returns why the receiver refused all events of a delivery; undefined if it did not refuse all of
 * them. `events` is the number of events in the delivery.
 */
export function fullRefusal(result: AttemptResult, events: number): FailureCause | undefined {
  if (result.kind === "rejected") return { reason: result.reason, response: result.response };
  const refused = result.kind === "delivered" ? result.refused : undefined;
  const [reason] = refused?.size === events ? refused.values() : [];
  return reason === undefined ? undefined : { reason, response: undefined };
}

/**
 * Maximum number of failed attempts that are stored for an event: the first `FIRST_ATTEMPTS_KEPT`
 * ones, and the latest ones.
 */
export const FAILED_ATTEMPTS_MAX = 10;
const FIRST_ATTEMPTS_KEPT = 2;

/**
 * Adds a failed attempt to the array `attempts`, and returns this array, or a new one if there was
 * none. If it then has more than `FAILED_ATTEMPTS_MAX`, removes the oldest attempt after the first
 * `FIRST_ATTEMPTS_KEPT`.
 */
export function withAttempt(
  attempts: FailedAttempt[] | undefined,
  attempt: FailedAttempt,
): FailedAttempt[] {
  if (attempts === undefined) return [attempt];
  attempts.push(attempt);
  if (attempts.length > FAILED_ATTEMPTS_MAX) attempts.splice(FIRST_ATTEMPTS_KEPT, 1);
  return attempts;
}
