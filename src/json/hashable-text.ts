/**
 * Returns the text to hash in place of `text`. This is `text` itself, or its JSON if it contains
 * half of a surrogate pair. UTF-8 encodes every such half with the same bytes, so the hashes of
 * different texts would otherwise be equal.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
