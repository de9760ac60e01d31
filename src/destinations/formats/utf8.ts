/** `Buffer`'s method. Called on a `Uint8Array`, it needs no `Buffer` around the array. */
const { utf8Slice } = Buffer.prototype;

/** Decodes bytes of UTF-8 from offset `start` to offset `end`. */
export function utf8Text(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return utf8Slice.call(bytes, start, end);
}
