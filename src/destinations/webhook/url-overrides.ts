import { WEBHOOK_PATH_CHARS_MAX } from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";

/**
 * Appends path segments or a query string from user code to the webhook's URL. Throws
 * `RequestBuildError` if `appended` is too long, contains `#`, dot segments or control characters,
 * or leaves the webhook's origin and path.
 */
export function appendToUrl(webhookUrl: string, appended: string): string {
  expectPlain("appendPath", appended);
  const base = new URL(webhookUrl);
  const start = base.pathname + base.search;
  const isDouble = base.search === "" && start.endsWith("/") && appended.startsWith("/");
  const end = (isDouble ? appended.slice(1) : appended).replaceAll(" ", "%20");
  expectNoDotSegments("appendPath", start + end);
  return below(base, `${base.origin}${start}${end}`, "appendPath");
}

/**
 * Returns the URL with which user code replaces the webhook's URL. Throws `RequestBuildError`
 * unless the new URL has the origin of the webhook's URL, and the same path or a path below it.
 */
export function replaceUrl(webhookUrl: string, requested: string): string {
  expectPlain("fullPath", requested);
  const base = new URL(webhookUrl);
  const target = URL.parse(requested);
  const isSame = target?.origin === base.origin && target.username === "" && target.password === "";
  if (!isSame) throw notBelow("fullPath");
  // Only the text after the origin is compared, because an origin has several spellings.
  expectNoDotSegments("fullPath", requested.replace(/^[^:]*:[/\\]*[^/\\?]*/, ""));
  return below(base, requested, "fullPath");
}

/**
 * Parses a URL, and returns its normal form. Throws `RequestBuildError` unless the URL has the
 * origin of `base` and a path equal to or below that of `base`. With `appendPath`, the last segment
 * may also be longer.
 */
function below(base: URL, text: string, field: "appendPath" | "fullPath"): string {
  const url = new URL(text);
  const more = url.pathname.slice(base.pathname.length);
  const isSegment = base.pathname.endsWith("/") || more === "" || more.startsWith("/");
  const isBelow =
    url.origin === base.origin &&
    url.pathname.startsWith(base.pathname) &&
    (field === "appendPath" || isSegment);
  if (!isBelow) throw notBelow(field);
  return url.href;
}

const notBelow = (field: "appendPath" | "fullPath") =>
  new RequestBuildError(
    `Expected ${field} to give a URL that begins with the destination's webhookUrl`,
  );

function expectPlain(field: string, text: string): void {
  if (text.length > WEBHOOK_PATH_CHARS_MAX) {
    throw new RequestBuildError(
      `Expected ${field} of at most ${WEBHOOK_PATH_CHARS_MAX} characters, got ${text.length}`,
    );
  }
  // URL parsers drop tabs and line breaks, which would join the texts around them.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the text is searched for control characters
  if (/[\x00-\x1f\x7f]/.test(text)) {
    throw new RequestBuildError(`Expected ${field} without control characters`);
  }
  if (text.includes("#")) {
    throw new RequestBuildError(
      `Expected ${field} without #, which is never sent; %23 stands for it`,
    );
  }
}

/**
 * Matches a path segment `.` or `..`, with which a request could leave the webhook's path. Also
 * matches percent-encoded dots, and dots before `;` and parameters, because some servers read these
 * as `.` or `..`.
 */
const dotSegment = /^(\.|%2e){1,2}(;.*)?$/i;

function expectNoDotSegments(field: string, text: string): void {
  const [path = ""] = text.split("?", 1);
  if (path.split(/[/\\]|%2f|%5c/i).some((segment) => dotSegment.test(segment.trim()))) {
    throw new RequestBuildError(`Expected ${field} without segments . and ..`);
  }
}
