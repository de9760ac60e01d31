import { createHash } from "node:crypto";

/**
 * Returns a Content-Security-Policy header. With it, a page may load and send only what
 * `directives` allow.
 */
export function contentPolicy(...directives: string[]) {
  const nothingElse = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
  const policy = ["default-src 'none'", ...directives, ...nothingElse].join("; ");
  return { "Content-Security-Policy": policy };
}

/**
 * Returns the hash source by which a Content-Security-Policy allows the inline script or style with
 * this text.
 */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
