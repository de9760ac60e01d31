/**
 * Returns the text that is hashed in place of `text`. This is `text` itself, or its JSON if `text`
 * contains half of a surrogate pair, because all such halves have the same bytes in UTF-8.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
