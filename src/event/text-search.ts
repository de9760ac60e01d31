/**
 * Returns a function that checks whether a JSON text contains `text`, ignoring the case of `text`.
 * The function's argument must be in lower case, without spaces between JSON tokens. `text` may be
 * a part of JSON, such as `"plan": "pro"`. If a `:` or `,` in `text` follows a `"`, the spaces
 * around this `:` or `,` are ignored. `text` may also be a part of a string's content, such as `say
 * "hi"`, without JSON escapes.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
