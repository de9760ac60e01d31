import { createHash } from "node:crypto";

/** Returns the header with which a page may load and send only what these directives allow. */
export function contentPolicy(...directives: string[]) {
  const nothingElse = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
  const policy = ["default-src 'none'", ...directives, ...nothingElse].join("; ");
  return { "Content-Security-Policy": policy };
}

/**
 * Returns a source expression for a Content-Security-Policy: the hash that allows an inline script
 * or style with this text.
 */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
