import { createHash, createHmac } from "node:crypto";

/**
 * Headers of Standard Webhooks (standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`.
 * The id comes from the body, so that every attempt at the same events carries the same one.
 */
export function signatureHeaders(
  key: Uint8Array,
  body: Uint8Array,
  now: number,
): Record<string, string> {
  const digest = createHash("sha256").update(body).digest("hex");
  const id = `msg_${digest.slice(0, 32)}`;
  const timestamp = String(Math.floor(now / 1_000));
  return {
    "webhook-id": id,
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

/** `whsec_` and base64 of 24 to 64 bytes, as Standard Webhooks has it; other text is the key itself. */
export function signingKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(prefix)) return Buffer.from(secret);
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, "base64");
  const exact = key.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  return exact && key.length >= 24 && key.length <= 64 ? key : undefined;
}
