import { WEBHOOK_PATH_CHARS_MAX } from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";

/**
 * The configured URL with what user code appends to its text: more of the path, and perhaps a
 * query. Scheme, host and port stay, and the path stays below the configured one. Where a slash
 * meets a slash, one is left.
 */
export function appendToUrl(webhookUrl: string, appended: string): string {
  expectPlain("appendPath", appended);
  const base = new URL(webhookUrl);
  const start = base.pathname + base.search;
  const isDouble = base.search === "" && start.endsWith("/") && appended.startsWith("/");
  const end = (isDouble ? appended.slice(1) : appended).replaceAll(" ", "%20");
  expectNoWayUp("appendPath", start + end);
  return below(base, `${base.origin}${start}${end}`, "appendPath");
}

/** The URL that user code asks for, which must begin with the configured one. */
export function replaceUrl(webhookUrl: string, asked: string): string {
  expectPlain("fullPath", asked);
  const base = new URL(webhookUrl);
  const target = URL.parse(asked);
  const isSame = target?.origin === base.origin && target.username === "" && target.password === "";
  if (!isSame) throw elsewhere();
  // Behind the origin, which may be written in several ways.
  expectNoWayUp("fullPath", asked.replace(/^[^:]*:[/\\]*[^/\\?]*/, ""));
  return below(base, asked, "fullPath");
}

/**
 * The text as a URL below the base: what its path has beyond the base's begins a segment, unless
 * the base's text was appended to.
 */
function below(base: URL, text: string, field: "appendPath" | "fullPath"): string {
  const url = new URL(text);
  const more = url.pathname.slice(base.pathname.length);
  const isSegment = base.pathname.endsWith("/") || more === "" || more.startsWith("/");
  const isBelow =
    url.origin === base.origin &&
    url.pathname.startsWith(base.pathname) &&
    (field === "appendPath" || isSegment);
  if (!isBelow) throw elsewhere();
  return url.href;
}

const elsewhere = () =>
  new RequestBuildError("Expected fullPath to begin with the destination's webhookUrl");

function expectPlain(field: string, text: string): void {
  if (text.length > WEBHOOK_PATH_CHARS_MAX) {
    throw new RequestBuildError(
      `Expected ${field} of at most ${WEBHOOK_PATH_CHARS_MAX} characters, got ${text.length}`,
    );
  }
  // A URL parser leaves out tabs and line breaks, and with them what they keep apart.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\x00-\x1f\x7f]/.test(text)) {
    throw new RequestBuildError(`Expected ${field} without control characters`);
  }
  if (text.includes("#")) {
    throw new RequestBuildError(
      `Expected ${field} without #, which is never sent; %23 stands for it`,
    );
  }
}

/** A segment that leads up, or that some server takes for one: escaped, or with parameters. */
const up = /^(\.|%2e){1,2}(;.*)?$/i;

function expectNoWayUp(field: string, text: string): void {
  const [path = ""] = text.split("?", 1);
  if (path.split(/[/\\]|%2f|%5c/i).some((segment) => up.test(segment.trim()))) {
    throw new RequestBuildError(`Expected ${field} without segments . and ..`);
  }
}
