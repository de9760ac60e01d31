/** Number of zeros behind a text. The scanner reads at most six bytes beyond the text. */
const ZEROS = 8;
/** Working memory for the text that is being scanned. */
let text = Buffer.alloc(128 << 10);

/**
 * Returns the scanner's working memory, with its contents and room for a text of `bytes` bytes. A
 * text that is written to its start is scanned there, without a copy.
 */
export function textMemory(bytes: number): Buffer {
  if (bytes + ZEROS > text.length) {
    const larger = Buffer.alloc(2 * bytes + ZEROS);
    larger.set(text);
    text = larger;
  }
  return text;
}

/**
 * Copies a JSON text to the start of the scanner's working memory, and returns this memory until
 * the next call. `json` may be a part of it.
 */
export function loadText(json: Uint8Array): Buffer {
  textMemory(json.length);
  if (json.buffer !== text.buffer || json.byteOffset !== text.byteOffset) text.set(json);
  return text.fill(0, json.length, json.length + ZEROS);
}
