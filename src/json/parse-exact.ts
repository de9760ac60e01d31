/** Pattern that matches a string or a number in JSON. */
const scalar = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON, but returns integers of 16 digits or more as text. `JSON.parse` would round them,
 * and two different integers could become equal.
 */
export function parseExact(json: string): unknown {
  // Few events have a long number, and quoting it takes longer than parsing.
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  return JSON.parse(json.replace(scalar, (it) => (/^-?\d{16,}$/.test(it) ? `"${it}"` : it)));
}

/**
 * Parses JSON for a program that only shows the values or writes them as JSON again. Integers
 * beyond 2^53 keep all their digits when they are written with `JSON.stringify`. A runtime without
 * `JSON.rawJSON` rounds them.
 */
export function parseToShow(json: string): unknown {
  const { rawJSON } = JSON as { rawJSON?(text: string): unknown };
  return rawJSON === undefined ? JSON.parse(json) : parseLarge(json, rawJSON);
}

/**
 * Parses JSON. Calls `large` with the digits of each integer beyond 2^53, and uses the result in
 * place of that integer.
 */
export function parseLarge(json: string, large: (digits: string) => unknown): unknown {
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  const revive = (_key: string, value: unknown, { source = "" }: { source?: string } = {}) => {
    const isLarge = typeof value === "number" && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/.test(source) ? large(source) : value;
  };
  return JSON.parse(json, revive);
}

/** Whether a value is a large integer that `parseToShow` has kept with all its digits. */
export const isLargeInteger = (value: unknown): boolean =>
  (JSON as { isRawJSON?(value: unknown): boolean }).isRawJSON?.(value) ?? false;
