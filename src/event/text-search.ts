/**
 * Returns a function that checks whether a JSON text without spaces between its values, in lower
 * case, holds `text`: as it stands there or as people see it, `"plan": "pro"`, or as a part of a
 * string's value, `say "hi"`, whose quotes and backslashes JSON escapes.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
