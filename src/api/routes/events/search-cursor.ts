import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Positions } from "../../../log/positions.ts";

/**
 * Cursors of searches: log positions, encrypted with a key of the workspace. The logs hold the
 * events of all workspaces, so readable positions would tell how many events the others have.
 */

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Cursors are padded to multiples of this number of bytes, so that their length reveals nothing
 * about the encrypted log positions in them.
 */
const BLOCK_BYTES = 64;

/**
 * Encrypts log positions as the cursor with which a client continues a search. The cursor is
 * base64url, which needs no escape in a URL.
 */
export function sealCursor(positions: Positions, key: Uint8Array): string {
  const text = JSON.stringify(positions);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const padded = text.padEnd(Math.ceil(text.length / BLOCK_BYTES) * BLOCK_BYTES);
  const sealed = [nonce, cipher.update(padded), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

/** Decrypts the cursor of a search. Undefined when the text is not a cursor of this workspace. */
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
