import { createHash, createHmac } from "node:crypto";
import { hashableText } from "../../json/hashable-text.ts";
import type { OutgoingEvent } from "../destination.ts";

/**
 * Returns the id of a request, the same for each attempt: the first event's `messageId`, then a
 * hash of all events. A single event that user code did not produce has no hash.
 */
export function requestId(events: readonly OutgoingEvent[], joined: Uint8Array): string {
  const { bytes, input, byCode } = events[0]!;
  const id = `msg_${headerText(input.messageId)}`;
  if (events.length === 1 && !byCode) return id;
  const first = Bun.hash.wyhash(bytes);
  const hash = events.length === 1 ? first : Bun.hash.wyhash(joined, first);
  return `${id}_${hash.toString(36)}`;
}

/**
 * Returns the messageId if it has 1 to 255 letters, digits, `_` and `-`. Otherwise returns a hash
 * of it, because headers allow only some characters.
 */
function headerText(messageId: string): string {
  if (/^[A-Za-z0-9_-]{1,255}$/.test(messageId)) return messageId;
  return createHash("sha256").update(hashableText(messageId)).digest("hex");
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
  const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  const signature = `v1,${hmac.digest("base64")}`;
  return { "webhook-timestamp": timestamp, "webhook-signature": signature };
}

const prefix = "whsec_";

/**
 * Converts a signing secret into the key. A secret with the prefix `whsec_` (Standard Webhooks) is
 * the base64 of 24 to 64 bytes, any other the key itself. Returns undefined for invalid base64 or
 * length.
 */
export function signingKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(prefix)) return Buffer.from(secret);
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, "base64");
  const exact = key.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  return exact && key.length >= 24 && key.length <= 64 ? key : undefined;
}
