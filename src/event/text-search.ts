/**
 * Returns a function that checks whether a JSON text, in lower case and without spaces between its
 * values, contains `text`. This `text` may be JSON with or without spaces, such as `"plan": "pro"`,
 * or a part of a string's value, such as `say "hi"`, whose quotes and backslashes JSON escapes.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
