import { createHash, createHmac } from "node:crypto";
import { hashableText } from "../../json/hashable-text.ts";
import type { OutgoingEvent } from "../destination.ts";

/**
 * Returns the id of a request: the `messageId` of the first event, followed by a hash of all
 * events. The hash is omitted if the only event of the request is one that user code did not
 * produce. Each attempt to send the same events has the same id, even if a template changes the
 * body. A request with other events has another id.
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
 * Converts a signing secret into the bytes of the key. A secret with the prefix `whsec_` is the
 * base64 of 24 to 64 bytes, as in Standard Webhooks. The bytes of any other secret are the key
 * itself. Returns undefined when the base64 or its length is invalid.
 */
export function signingKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(prefix)) return Buffer.from(secret);
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, "base64");
  const exact = key.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  return exact && key.length >= 24 && key.length <= 64 ? key : undefined;
}
