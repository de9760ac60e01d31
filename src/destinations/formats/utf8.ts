/** `Buffer`'s method that decodes UTF-8. It also works on a `Uint8Array`, without wrapping. */
const { utf8Slice } = Buffer.prototype;

/** Decodes bytes of UTF-8 from offset `start` to offset `end`. */
export function utf8Text(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return utf8Slice.call(bytes, start, end);
}
