/**
 * Returns a function that checks whether a JSON text contains `text`, ignoring the case of `text`.
 * The function's argument must be in lower case, without spaces between JSON tokens. `text` may be
 * a part of JSON, such as `"plan": "pro"`; spaces around a `:` or `,` that follows a quote do not
 * matter. `text` may also be a part of a string's content, without JSON escapes, such as `say
 * "hi"`.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
