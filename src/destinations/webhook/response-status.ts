import type { EgressResponse } from "../../egress/egress.ts";
import { answerOf } from "../answers/receiver-answer.ts";
import type { DeliveryResult } from "../destination.ts";
import { retryAfterMs } from "../retry-after.ts";

/**
 * HTTP statuses below 500 after which the request is retried (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC
 * 6585 §4).
 */
export const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Statuses from 500 on with which a receiver, or a gateway before it, refuses any request (RFC 9110
 * §15.6.3 to §15.6.5). Their cause is the receiver, and not an event.
 */
const statusesOfDestination: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Returns the result of a delivery from the status of its response. A redirect is a failure: its
 * target was never checked, and most clients would send a GET there. `secretsOf` returns secrets of
 * the request; it is called for a failure only.
 */
export function resultOfStatus(
  response: EgressResponse,
  secretsOf?: () => string[],
): DeliveryResult {
  const { status, headers } = response;
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const reason = `HTTP ${status} from receiver`;
  const answer = answerOf(response, secretsOf?.());
  if (status < 500 && !retryableStatuses.has(status)) return { kind: "rejected", reason, answer };
  const afterMs = retryAfterMs(headers["retry-after"], Date.now());
  const isOfEvent = status >= 500 && !statusesOfDestination.has(status);
  const delay = afterMs !== undefined && { afterMs };
  return { kind: "retry", reason, answer, ...(isOfEvent && { scope: "event" }), ...delay };
}
