import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Positions } from "../../../log/positions.ts";

/**
 * This file encrypts the cursors of searches, which are log positions, with a key of the workspace.
 * All workspaces share the logs, so readable positions would show how many events other workspaces
 * have.
 */

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * The text in a cursor is padded to a multiple of this number of bytes before it is encrypted. The
 * length of a cursor then says little about the log positions in it.
 */
const BLOCK_BYTES = 64;

/**
 * Encrypts the log positions at which a client can continue a search. Returns the cursor as
 * base64url, which needs no escapes in a URL.
 */
export function sealCursor(positions: Positions, key: Uint8Array): string {
  const text = JSON.stringify(positions);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const padded = text.padEnd(Math.ceil(text.length / BLOCK_BYTES) * BLOCK_BYTES);
  const sealed = [nonce, cipher.update(padded), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

/** Decrypts a search's cursor. Undefined if the string is no cursor encrypted with `key`. */
export function openCursor(cursor: string, key: Uint8Array): Positions | undefined {
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = cipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)).toString();
    cipher.final();
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
