/**
 * Returns a text to hash in place of `text`: itself, or its JSON if it has halves of surrogate
 * pairs, since these all have the same bytes in UTF-8.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
