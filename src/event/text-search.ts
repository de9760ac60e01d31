/**
 * Returns a function that checks whether a JSON text contains `text`, ignoring case: as JSON, such
 * as `"plan": "pro"`, or inside a string, such as `say "hi"`. Its argument must be in lower case,
 * without spaces between tokens.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
