/**
 * Returns a function that checks whether a JSON text contains `text`: as JSON, such as `"plan":
 * "pro"`, or inside a string, such as `say "hi"`. The JSON text must be in lower case, without
 * spaces between tokens; the case of `text` is ignored.
 */
export function textSearch(text: string): (lowerCaseJson: string) => boolean {
  const inString = JSON.stringify(text).slice(1, -1).toLowerCase();
  const asShown = text.replace(/"\s*([:,])\s*/g, '"$1').toLowerCase();
  return (json) => json.includes(inString) || (asShown !== inString && json.includes(asShown));
}
