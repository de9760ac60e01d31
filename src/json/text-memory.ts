/** Number of zero bytes after the text in memory. The scanner reads up to six of them. */
const ZEROS = 8;
/** Working memory for the text that is being scanned. */
let text = Buffer.alloc(128 << 10);

/**
 * Returns the scanner's working memory, enlarged to at least `bytes` bytes if necessary. Its
 * contents are kept. A caller may write a text to its start, which saves the copy in `loadText`.
 */
export function textMemory(bytes: number): Buffer {
  if (bytes + ZEROS > text.length) {
    const larger = Buffer.alloc(2 * bytes);
    larger.set(text);
    text = larger;
  }
  return text;
}

/**
 * Copies a JSON text to the start of the scanner's working memory, and returns this memory. The
 * next call overwrites the text. `json` may itself be a part of this memory.
 */
export function loadText(json: Uint8Array): Buffer {
  textMemory(json.length);
  if (json.buffer !== text.buffer || json.byteOffset !== text.byteOffset) text.set(json);
  return text.fill(0, json.length, json.length + ZEROS);
}
