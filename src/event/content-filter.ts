import { utf8Text } from "../json/bytes.ts";

/** Conditions of a search that can be checked only on the JSON of an event. */
export interface ContentFilter {
  /** Path of a field and its value, such as `properties.plan=pro`. Names are separated by dots. */
  property?: string;
  /** Text that occurs in the event's JSON. Upper and lower case are equal. */
  text?: string;
}

/** Regular expression that a value of `property` must match. */
export const PROPERTY_PATTERN = "^[^=]+=";
/** What `PROPERTY_PATTERN` expects, in the words of an error message. */
export const PROPERTY_EXPECTED =
  "the path and the value of a field such as properties.plan=pro, of at most 1024 characters";

/** Splits `properties.plan=pro` into path and value. Undefined when there is no path. */
function parseProperty(property: string): { path: string[]; value: string } | undefined {
  const equals = property.indexOf("=");
  if (equals <= 0) return undefined;
  return { path: property.slice(0, equals).split("."), value: property.slice(equals + 1) };
}

/**
 * Returns a function that checks whether an event, as JSON in UTF-8, meets all conditions of the
 * filter, or undefined when the filter has no conditions.
 */
export function contentMatcher({
  property,
  text,
}: ContentFilter): ((json: Uint8Array) => boolean) | undefined {
  if (property === undefined && text === undefined) return undefined;
  const wanted = property === undefined ? undefined : parseProperty(property);
  // In JSON, quotes, backslashes and control characters are escaped.
  const needle = text === undefined ? "" : JSON.stringify(text).slice(1, -1).toLowerCase();
  return (json) => {
    const whole = utf8Text(json);
    if (needle !== "" && !holdsText(whole, needle)) return false;
    if (property === undefined) return true;
    return wanted !== undefined && textAt(JSON.parse(whole), wanted.path) === wanted.value;
  };
}

/**
 * Whether a JSON text contains `needle`, in lower case. The JSON of an SDK may escape characters
 * that need no escape, such as `\u00e4` and `\/`, so it is also compared without these escapes.
 */
function holdsText(json: string, needle: string): boolean {
  if (json.toLowerCase().includes(needle)) return true;
  return json.includes("\\") && JSON.stringify(JSON.parse(json)).toLowerCase().includes(needle);
}

/** Returns the scalar at a path as a string; undefined for an object, an array or nothing. */
export function textAt(event: unknown, path: readonly string[]): string | undefined {
  let value = event;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === "object" && value !== null ? undefined : String(value);
}
