import { utf8Text } from "../json/bytes.ts";
import { parseExact } from "../json/parse-exact.ts";
import { textSearch } from "./text-search.ts";

/** Conditions of a search that can be checked only on the JSON of an event. */
export interface ContentFilter {
  /** Path of a field and its required value: `properties.plan=pro`. Dots separate the names. */
  property?: string;
  /** Text that the event's JSON must contain. Upper and lower case count as equal. */
  text?: string;
}

/** Regular expression for a text with a path, `=`, and a value, which may be empty. */
export const PROPERTY_PATTERN = "^[^=]+=";
/**
 * Describes for error messages which texts are valid: those that match `PROPERTY_PATTERN` and have
 * at most `charsMax` characters.
 */
export const propertyExpected = (charsMax: number) =>
  `the path and the value of a field such as properties.plan=pro, of at most ${charsMax} characters`;

/** Splits a text such as `properties.plan=pro` into path and value. Undefined if it has no path. */
function parseProperty(property: string): { path: string[]; value: string } | undefined {
  const equals = property.indexOf("=");
  if (equals <= 0) return undefined;
  return { path: property.slice(0, equals).split("."), value: property.slice(equals + 1) };
}

/**
 * Returns a function that checks whether an event meets all conditions of the filter. The function
 * gets the event as JSON in UTF-8. Returns undefined if the filter has no conditions.
 */
export function contentMatcher({
  property,
  text,
}: ContentFilter): ((json: Uint8Array) => boolean) | undefined {
  if (property === undefined && text === undefined) return undefined;
  const wanted = property === undefined ? undefined : parseProperty(property);
  const holdsText = text === undefined ? undefined : jsonSearch(text);
  return (json) => {
    const whole = utf8Text(json);
    if (holdsText?.(whole) === false) return false;
    if (property === undefined) return true;
    return wanted !== undefined && textAt(parseExact(whole), wanted.path) === wanted.value;
  };
}

/**
 * Returns a function that checks whether a JSON text contains `text`, ignoring case. Unneeded
 * escapes in the JSON, such as `\u00e4` and `\/`, and spaces beside quotes do not prevent a match.
 */
function jsonSearch(text: string): (json: string) => boolean {
  const holds = textSearch(text);
  const hasQuote = text.includes('"');
  return (json) =>
    holds(json.toLowerCase()) ||
    ((hasQuote || json.includes("\\")) && holds(JSON.stringify(JSON.parse(json)).toLowerCase()));
}

/**
 * Returns the scalar at a path as a string; undefined if an object, an array or nothing is there.
 */
export function textAt(event: unknown, path: readonly string[]): string | undefined {
  let value = event;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === "object" && value !== null ? undefined : String(value);
}
