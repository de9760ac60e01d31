import { createHash } from "node:crypto";

/**
 * Returns a source expression for a Content-Security-Policy: the hash that allows an inline script
 * or style with this text.
 */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
