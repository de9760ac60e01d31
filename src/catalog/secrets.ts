import { createHash, timingSafeEqual } from "node:crypto";
import { BASE62 } from "./base62.ts";

/**
 * Number of random bits in the secret of a token or session. The catalog stores only a hash of the
 * secret.
 */
export const TOKEN_RANDOM_BITS = 192;

/**
 * Random bytes of this value or more are discarded, so that `byte % 62` selects each of the 62
 * letters and digits with equal probability. It is the largest multiple of 62 below 256.
 */
const FAIR_BYTES = 248;
const WRITE_KEY_RANDOM_BITS = 160;
const secretShape = /^pm_[0-9A-Za-z]{32,255}$/;
const sessionSecretShape = /^pms_[0-9A-Za-z]{32,64}$/;

export function newSecret(): string {
  return `pm_${randomText(TOKEN_RANDOM_BITS)}`;
}

/** Whether a string has the form of a token's secret: `pm_` and 32 to 255 letters or digits. */
export function isSecret(text: string): boolean {
  return secretShape.test(text);
}

/**
 * Creates the secret of a session, which the browser stores. Its prefix is not that of a token's
 * secret, so that no session's secret is accepted as a token.
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
 * Returns the SHA-256 hash of a secret in hexadecimal. A fast hash without salt is enough, because
 * the secret is random and too long to guess.
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
