import type { EgressResponse } from "../../egress/egress.ts";
import type { DeliveryResult } from "../destination.ts";
import { retryAfterMs } from "../retry-after.ts";

/** Statuses below 500 that ask for a retry: RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4. */
export const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * The result of a delivery by the status of the response, whatever its body. A redirect is a
 * failure: its target was never checked, and most clients would turn the request into a GET.
 */
export function resultOfStatus({ status, headers }: EgressResponse): DeliveryResult {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const reason = `The receiver answered ${status}`;
  if (status < 500 && !retryableStatuses.has(status)) return { kind: "rejected", reason };
  const afterMs = retryAfterMs(headers["retry-after"], Date.now());
  return { kind: "retry", reason, ...(afterMs !== undefined && { afterMs }) };
}
