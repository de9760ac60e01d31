import { createHash, createHmac } from "node:crypto";
import type { OutgoingEvent } from "../destination.ts";

/**
 * Returns the id of a request, computed from its first event and the text of all its events. Each
 * attempt at the same events has the same id, whatever the template, and a request with other
 * events has another id. The id begins with the first event's `messageId`. A request with a single
 * unchanged event has only the `messageId` as its id.
 */
export function requestId(events: readonly OutgoingEvent[], joined: Uint8Array): string {
  const { bytes, input, byCode } = events[0]!;
  const id = `msg_${headerText(input.messageId)}`;
  if (events.length === 1 && !byCode) return id;
  const first = Bun.hash.wyhash(bytes);
  const hash = events.length === 1 ? first : Bun.hash.wyhash(joined, first);
  return `${id}_${hash.toString(36)}`;
}

/** Returns the messageId, or its hash when a header may not contain the messageId. */
function headerText(messageId: string): string {
  if (/^[A-Za-z0-9_-]{1,255}$/.test(messageId)) return messageId;
  return createHash("sha256").update(messageId).digest("hex");
}

/**
 * Returns the headers that sign a request by Standard Webhooks (standardwebhooks.com): HMAC-SHA256
 * over `id.timestamp.body`.
 */
export function signatureHeaders(
  key: Uint8Array,
  id: string,
  body: Uint8Array,
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  return {
    "webhook-timestamp": timestamp,
    "webhook-signature": signature(key, id, timestamp, body),
  };
}

export function signature(
  key: Uint8Array,
  id: string,
  timestamp: string,
  body: Uint8Array,
): string {
  const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest("base64")}`;
}

const prefix = "whsec_";

/**
 * Decodes a signing secret into a key. `whsec_` is followed by the base64 of 24 to 64 bytes, as in
 * Standard Webhooks; any other text is the key itself. Undefined when the base64 is invalid.
 */
export function signingKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(prefix)) return Buffer.from(secret);
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, "base64");
  const exact = key.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  return exact && key.length >= 24 && key.length <= 64 ? key : undefined;
}
