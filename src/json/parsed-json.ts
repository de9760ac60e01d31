/** Returns the value of a JSON text; undefined when the text is not valid JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
