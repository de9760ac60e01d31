import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import type { FailureScope } from "../../destinations/destination.ts";

/** Why events were not delivered, without secrets: this may be stored, logged and shown. */
export interface FailureCause {
  reason: string;
  /** The answer of the receiver; absent when it did not answer. */
  response?: ShownAnswer | undefined;
}

/** One attempt to deliver a batch that failed, or in which an event of the batch was refused. */
export interface FailedAttempt {
  /** Start of the attempt in milliseconds since the epoch. */
  at: number;
  durationMs: number;
  /** Why the attempt failed; absent when it delivered the batch, apart from refused events. */
  reason?: string;
  status?: number;
}

/** The result of one attempt: a `DeliveryResult` without secrets. */
export type AttemptResult =
  | {
      kind: "delivered";
      refused?: ReadonlyMap<number, string>;
      /** The attempt, for the events in `refused`; absent when there are none. */
      attempt?: FailedAttempt;
    }
  | ({ kind: "rejected"; attempt?: FailedAttempt } & FailureCause)
  | ({
      kind: "retry";
      scope?: FailureScope;
      afterMs?: number;
      delivered?: ReadonlySet<number>;
      attempt?: FailedAttempt;
      /** Whether the config has changed during the attempt, so that the next one comes at once. */
      isOutdated?: boolean;
    } & FailureCause);

/** The cause when the receiver refused all events of a delivery; otherwise undefined. */
export function fullRefusal(result: AttemptResult, events: number): FailureCause | undefined {
  if (result.kind === "rejected") return { reason: result.reason, response: result.response };
  const refused = result.kind === "delivered" ? result.refused : undefined;
  const [reason] = refused?.size === events ? refused.values() : [];
  return reason === undefined ? undefined : { reason, response: undefined };
}

/** Number of failed attempts of an event that are kept: its first ones and its last ones. */
export const FAILED_ATTEMPTS_MAX = 10;
const FIRST_ATTEMPTS_KEPT = 2;

/** Adds an attempt to the failed attempts of an event, and removes one in the middle if needed. */
export function withAttempt(
  attempts: FailedAttempt[] | undefined,
  attempt: FailedAttempt,
): FailedAttempt[] {
  if (attempts === undefined) return [attempt];
  attempts.push(attempt);
  if (attempts.length > FAILED_ATTEMPTS_MAX) attempts.splice(FIRST_ATTEMPTS_KEPT, 1);
  return attempts;
}
