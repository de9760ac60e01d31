/**
 * Returns a function that checks whether a JSON text contains `text`, ignoring the case of `text`.
 * The JSON text must be in lower case, without spaces between its tokens. `text` may be a part of
 * JSON, such as `"plan": "pro"`: if a `:` or `,` follows a quote, the spaces around it are ignored.
 * `text` may also be a part of a string's content, such as `say "hi"`, without the escapes of JSON.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
