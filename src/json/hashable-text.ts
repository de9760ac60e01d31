/**
 * Returns the text to hash in place of `text`: `text` itself, or its JSON if it contains half of a
 * surrogate pair. UTF-8 encodes all such halves with the same bytes. Texts that differ only in
 * these halves would therefore have equal hashes.
 */
export function hashableText(text: string): string {
  return text.isWellFormed() ? text : JSON.stringify(text);
}
