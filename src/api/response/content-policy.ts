import { createHash } from "node:crypto";

/** Returns a header Content-Security-Policy that limits what a page loads and sends. */
export function contentPolicy(...directives: string[]) {
  const nothingElse = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
  const policy = ["default-src 'none'", ...directives, ...nothingElse].join("; ");
  return { "Content-Security-Policy": policy };
}

/**
 * Returns a hash for a Content-Security-Policy, which allows the inline script or style with this
 * text.
 */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
