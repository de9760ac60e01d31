import { isObject } from "../../is-object.ts";
import { parseExact } from "../../json/parse-exact.ts";
import { WEBHOOK_QUERY_LEVELS_MAX, WEBHOOK_QUERY_URL_CHARS_MAX } from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";

/**
 * Adds an event to the query string of a webhook's URL, as RudderStack does: one parameter for each
 * value in the properties (or an identify event's traits), named after its path (`items[0].price`).
 * Null is `<nil>`, an empty object `{}`, an empty array `[]`. Throws `RequestBuildError` if the URL
 * is too long, or the values are nested too deeply.
 */
export function queryUrl(webhookUrl: string, event: Uint8Array): string {
  const url = new URL(webhookUrl);
  let chars = 0;
  for (const [name, value] of leaves(parametersOf(event), "", 0)) {
    chars += name.length + value.length;
    expectFits(chars);
    url.searchParams.append(name, value);
  }
  // The URL is checked again here, because percent-encoding makes it longer.
  expectFits(url.href.length);
  return url.href;
}

function expectFits(chars: number): void {
  if (chars <= WEBHOOK_QUERY_URL_CHARS_MAX) return;
  throw new RequestBuildError(
    `Expected an event that makes a URL of at most ${WEBHOOK_QUERY_URL_CHARS_MAX} characters`,
  );
}

function parametersOf(event: Uint8Array): unknown {
  const parsed = parseExact(Buffer.from(event).toString());
  if (!isObject(parsed)) return undefined;
  const { type, properties, traits, context } = parsed;
  if (type !== "identify") return properties;
  return traits ?? (isObject(context) ? context.traits : undefined);
}

/** Yields the path and the text of each primitive, empty object and empty array inside `value`. */
function* leaves(value: unknown, path: string, level: number): Generator<[string, string]> {
  if (level > WEBHOOK_QUERY_LEVELS_MAX) {
    throw new RequestBuildError(
      `Expected properties of at most ${WEBHOOK_QUERY_LEVELS_MAX} levels`,
    );
  }
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0 && path !== "") yield [path, textOf(value)];
  for (const [key, item] of entries) {
    const inner = path === "" ? key : `${path}.${key}`;
    yield* leaves(item, Array.isArray(value) ? `${path}[${key}]` : inner, level + 1);
  }
}

function textOf(value: unknown): string {
  if (value === null) return "<nil>";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
