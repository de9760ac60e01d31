/**
 * Returns a function that checks whether a JSON text contains `text`. The JSON text must be in
 * lower case, without spaces between its values. The case of `text` does not matter. `text` may be
 * a part of JSON, such as `"plan": "pro"`; spaces around a `:` or `,` after a quote are ignored.
 * `text` may also be a part of a string without JSON's escapes, such as `say "hi"`.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
