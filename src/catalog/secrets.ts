import { createHash, timingSafeEqual } from "node:crypto";
import { BASE62 } from "./base62.ts";

/**
 * Secrets of tokens and sessions, which are stored as hashes only, and write keys. This is the
 * randomness of a token.
 */
export const TOKEN_RANDOM_BITS = 192;

/**
 * The largest multiple of 62 in a byte. Greater or equal bytes are drawn again, so that every
 * letter is equally likely.
 */
const FAIR_BYTES = 248;
const WRITE_KEY_RANDOM_BITS = 160;
const secretShape = /^pm_[0-9A-Za-z]{32,255}$/;
const sessionSecretShape = /^pms_[0-9A-Za-z]{32,64}$/;

export function newSecret(): string {
  return `pm_${randomText(TOKEN_RANDOM_BITS)}`;
}

/** `pm_` and 32 to 255 letters or digits. */
export function isSecret(text: string): boolean {
  return secretShape.test(text);
}

/** The secret of a session, which a browser keeps; it is never accepted as a token. */
export function newSessionSecret(): string {
  return `pms_${randomText(TOKEN_RANDOM_BITS)}`;
}

export function isSessionSecret(text: string): boolean {
  return sessionSecretShape.test(text);
}

export function newWriteKey(): string {
  return randomText(WRITE_KEY_RANDOM_BITS);
}

/** SHA-256 in hexadecimal. A random secret of this length needs no salt and no slow hash. */
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
