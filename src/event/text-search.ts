/**
 * Returns a function that checks whether a JSON text in lower case contains `text`, ignoring the
 * case of `text`. `text` may be a part of JSON, such as `"plan": "pro"`; spaces beside its quotes
 * are ignored, and the JSON text must have none between its values. `text` may also be a part of a
 * string without JSON's escapes, such as `say "hi"`.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
