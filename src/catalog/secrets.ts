import { createHash, timingSafeEqual } from "node:crypto";
import { BASE62 } from "./base62.ts";

/** Number of random bits in a token. Secrets of tokens and sessions are stored as hashes only. */
export const TOKEN_RANDOM_BITS = 192;

/**
 * Smallest random byte that is not used: the largest multiple of 62 up to 256. Larger bytes are
 * replaced by new ones, so that all 62 letters and digits are equally likely.
 */
const FAIR_BYTES = 248;
const WRITE_KEY_RANDOM_BITS = 160;
const secretShape = /^pm_[0-9A-Za-z]{32,255}$/;
const sessionSecretShape = /^pms_[0-9A-Za-z]{32,64}$/;

export function newSecret(): string {
  return `pm_${randomText(TOKEN_RANDOM_BITS)}`;
}

/** Whether a text has the form of a token's secret: `pm_` and 32 to 255 letters or digits. */
export function isSecret(text: string): boolean {
  return secretShape.test(text);
}

/**
 * Creates the secret of a session, which the browser stores. Its form differs from that of a token,
 * so it is never accepted as a token.
 */
export function newSessionSecret(): string {
  return `pms_${randomText(TOKEN_RANDOM_BITS)}`;
}

export function isSessionSecret(text: string): boolean {
  return sessionSecretShape.test(text);
}

export function newWriteKey(): string {
  return randomText(WRITE_KEY_RANDOM_BITS);
}

/**
 * Returns the SHA-256 hash in hexadecimal. A random secret of this length needs no salt and no slow
 * hash.
 */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export function sameHash(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function randomText(bits: number): string {
  const chars = Math.ceil(bits / Math.log2(BASE62.length));
  let text = "";
  while (text.length < chars) {
    for (const byte of crypto.getRandomValues(new Uint8Array(chars))) {
      if (byte < FAIR_BYTES && text.length < chars) text += BASE62[byte % BASE62.length];
    }
  }
  return text;
}
