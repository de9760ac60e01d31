/**
 * Returns the text to hash for `text`: `text` itself, or its JSON if it contains half of a
 * surrogate pair. All such halves have the same bytes in UTF-8, so different texts would have the
 * same hash.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
