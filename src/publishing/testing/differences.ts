import { cutText } from "../../errors.ts";
import { isLargeInteger } from "../../json/parse-exact.ts";
import { DIFFERENCES_MAX, type Difference } from "../reports.ts";

/** Maximum length in UTF-16 units of a difference's path, and of each of its values as JSON. */
const DIFFERENCE_CHARS_MAX = 256;

/**
 * Compares two JSON values and returns the first places where they differ, at most
 * `DIFFERENCES_MAX`. The order of the keys of an object does not count. Pure function.
 */
export function differencesOf(expected: unknown, actual: unknown): Difference[] {
  const found: Difference[] = [];
  compare("", expected, actual, found);
  return found;
}

function compare(path: string, expected: unknown, actual: unknown, found: Difference[]): void {
  if (found.length >= DIFFERENCES_MAX || rounded(expected) === rounded(actual)) return;
  if (!isContainer(expected) || !isContainer(actual))
    return void found.push(at(path, expected, actual));
  if (Array.isArray(expected) !== Array.isArray(actual)) {
    return void found.push(at(path, expected, actual));
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  for (const key of keys) {
    const below = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    compare(below, ownValue(expected, key), ownValue(actual, key), found);
  }
}

/**
 * Returns a large integer rounded to a 64-bit float, the form that integers have in JavaScript code
 * and in stored test cases. Returns any other value unchanged.
 */
const rounded = (value: unknown) => (isLargeInteger(value) ? Number(JSON.stringify(value)) : value);

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !isLargeInteger(value);
}

/** Returns the value of the own property `key` of `container`; undefined when there is none. */
function ownValue(container: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function at(path: string, expected: unknown, actual: unknown): Difference {
  return {
    path: shortened(path),
    ...(expected !== undefined && { expected: shortened(JSON.stringify(expected)) }),
    ...(actual !== undefined && { actual: shortened(JSON.stringify(actual)) }),
  };
}

const shortened = (text: string) => cutText(text, DIFFERENCE_CHARS_MAX, "…");

/** Describes a difference in one sentence, for error messages. Pure function. */
export function differenceText({ path, expected, actual }: Difference): string {
  const place = path === "" ? "" : `at ${path} `;
  return `${place}expected ${expected ?? "nothing"}, got ${actual ?? "nothing"}`;
}
