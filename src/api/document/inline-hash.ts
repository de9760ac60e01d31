import { createHash } from "node:crypto";

/** The source of a Content-Security-Policy that allows the text of an inline script or style. */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
