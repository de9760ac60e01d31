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
 * HTTP statuses of at least 500 that a receiver or its gateway would answer to any request (RFC
 * 9110 §15.6.3 to §15.6.5). The failure has the scope `destination`, not `event`.
 */
const statusesOfDestination: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Converts a response into the result of the delivery. A redirect is a failure, because pixelmill
 * has not checked its target. The secrets that `secretsOf` returns are masked in the stored answer.
 */
export function resultOfStatus(
  response: EgressResponse,
  secretsOf?: () => string[],
): DeliveryResult {
  const { status, headers } = response;
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const reason = `HTTP ${status} from receiver${redirect}`;
  const answer = answerOf(response, secretsOf?.());
  if (status < 500 && !retryableStatuses.has(status)) return { kind: "rejected", reason, answer };
  const afterMs = retryAfterMs(headers["retry-after"], Date.now());
  const isOfEvent = status >= 500 && !statusesOfDestination.has(status);
  const delay = afterMs !== undefined && { afterMs };
  return { kind: "retry", reason, answer, ...(isOfEvent && { scope: "event" }), ...delay };
}
