/**
 * Returns the text to hash in place of `text`: `text` itself, or its JSON if it contains half of a
 * surrogate pair, because UTF-8 encodes all such halves with the same bytes.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
