/** A string or a number in JSON. */
const scalar = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON, but returns integers of 16 digits or more as text: rounded, as by `JSON.parse`, two
 * of them may be equal.
 */
export function parseExact(json: string): unknown {
  // Few events have a long number, and quoting it takes longer than parsing.
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  return JSON.parse(json.replace(scalar, (it) => (/^-?\d{16,}$/.test(it) ? `"${it}"` : it)));
}
