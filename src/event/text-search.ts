/**
 * Returns a function that checks whether a JSON text contains `text`. The JSON text must be in
 * lower case, without spaces between its values. `text` may be JSON with or without spaces, such as
 * `"plan": "pro"`. It may also be a part of a string as it reads without JSON's escapes, such as
 * `say "hi"`.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
