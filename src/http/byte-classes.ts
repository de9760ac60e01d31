/** Tells which bytes each part of an HTTP head may contain. */

/**
 * Flags in `classes`, which has an entry for each byte value. A flag is set if the byte may be part
 * of a token (such as a header name), the request target, a header value, the host, or the method.
 */
export const TOKEN = 1;
export const TARGET = 2;
export const VALUE = 4;
export const HOST = 8;
export const METHOD = 16;
export const classes = new Uint8Array(256);
const mark = (kind: number, pattern: RegExp) => {
  for (let byte = 0; byte < 256; byte++) {
    if (pattern.test(String.fromCharCode(byte))) classes[byte]! |= kind;
  }
};
// All registered methods consist of capital letters and hyphens (RFC 9110 §16.1).
mark(METHOD, /[A-Z-]/);
mark(TOKEN, /[!#$%&'*+.^_`|~0-9A-Za-z-]/);
// A URL must not contain UTF-8 bytes, but browsers and scripts send them in query strings.
mark(TARGET, /[\x21-\x7e\x80-\xff]/);
mark(VALUE, /[\t\x20-\x7e\x80-\xff]/);
mark(HOST, /[A-Za-z0-9._~%:[\]-]/);
