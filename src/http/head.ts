import { HTTP_HEADERS_MAX, HTTP_METHOD_CHARS_MAX } from "../settings/limits.ts";
import { classes, HOST, METHOD, TARGET, TOKEN, VALUE } from "./byte-classes.ts";

/**
 * Parses the head of an HTTP request (RFC 9112) without allocating memory.
 *
 * Refuses heads that different parsers read in different ways, because these make request smuggling
 * possible: a head must have no bare CR or LF, no folded line, and no space before a colon. It must
 * have exactly one `Host`, and at most one `Content-Length`, which has only digits. A head with
 * `Content-Length` must have no `Transfer-Encoding`.
 */

/**
 * The request head (request line and headers) that `readHead` parsed last. Positions are offsets
 * into the bytes that `readHead` got.
 */
export const head = {
  methodStart: 0,
  methodEnd: 0,
  /**
   * Offset of the path of the request target. When the target is a URL, the path begins after its
   * host.
   */
  pathStart: 0,
  pathEnd: 0,
  /**
   * Offset of the query string, after the `?`. If there is no query string, the offset of the end
   * of the request target.
   */
  queryStart: 0,
  targetEnd: 0,
  /**
   * Whether the connection closes after the response: the request uses HTTP/1.0 or asks to close.
   */
  isLast: false,
  /** Length of the body in bytes, as the header `Content-Length` states it. */
  bodyBytes: 0,
  /** Whether the body is chunked, so that its length is unknown. */
  isChunked: false,
  /** Whether the client sends its body only after an interim response (`Expect: 100-continue`). */
  expectsContinue: false,
  /**
   * Number of headers. For each header, the array `headers` holds four offsets: start and end of
   * its name, start and end of its value.
   */
  headerCount: 0,
  headers: new Int32Array(4 * HTTP_HEADERS_MAX),
};

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const COLON = 0x3a;
const QUESTION = 0x3f;
const SLASH = 0x2f;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;
const LOWER = 0x20;
const LETTER_MIN = 0x61;
const LENGTH_DIGITS_MAX = 15;

const ascii = (text: string) => Buffer.from(text, "latin1");
const VERSION = ascii(" HTTP/1.");
const HTTP = ascii("http://");
const HTTPS = ascii("https://");
const HOST_NAME = ascii("host");
const CONNECTION = ascii("connection");
const CONTENT_LENGTH = ascii("content-length");
const TRANSFER_ENCODING = ascii("transfer-encoding");
const EXPECT = ascii("expect");
const CONTINUE = ascii("100-continue");
const CLOSE = ascii("close");
const CHUNKED = ascii("chunked");

/**
 * Whether a line between `from` and `end`, in an incomplete head, ends with LF without CR. The
 * server can then refuse the head before it is complete.
 */
export function hasBareFeed(bytes: Buffer, from: number, end: number): boolean {
  let at = bytes.indexOf(LF, from);
  while (at >= 0 && at < end) {
    if (bytes[at - 1] !== CR) return true;
    at = bytes.indexOf(LF, at + 1);
  }
  return false;
}

/**
 * Parses a complete head (the bytes from `from` to `end`, with the empty line) into `head`. Returns
 * 0, or the HTTP status of the refusal: 400, 431 or 505.
 */
export function readHead(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  head.methodStart = at;
  while (classes[bytes[at]!]! & METHOD) at++;
  head.methodEnd = at;
  const methodChars = at - head.methodStart;
  if (methodChars === 0 || methodChars > HTTP_METHOD_CHARS_MAX) return 400;
  if (bytes[at] !== SPACE) return 400;
  at = readTarget(bytes, at + 1);
  if (at < 0) return 400;

  if (!startsWith(bytes, at, VERSION)) return 505;
  at += VERSION.length;
  const minor = bytes[at]!;
  if (minor < ZERO || minor > NINE || bytes[at + 1] !== CR || bytes[at + 2] !== LF) return 505;
  // An HTTP/1.0 connection is closed after the response, also if its client asks to keep it open.
  head.isLast = minor === ZERO;
  return readHeaders(bytes, at + 3, end - 2, minor >= ONE);
}

/**
 * Parses the request target at offset `from`. Returns the offset after it; -1 when it is neither a
 * path nor a URL.
 */
function readTarget(bytes: Uint8Array, from: number): number {
  let at = from;
  if (bytes[at] !== SLASH) {
    const scheme = startsWith(bytes, at, HTTP) ? HTTP : HTTPS;
    if (scheme === HTTPS && !startsWith(bytes, at, HTTPS)) return -1;
    at += scheme.length;
    const host = at;
    while (classes[bytes[at]!]! & HOST) at++;
    // A URL without a path has the path `/` (RFC 9112 §3.2.1).
    if (at === host || (bytes[at] !== SLASH && bytes[at] !== QUESTION && bytes[at] !== SPACE)) {
      return -1;
    }
  }
  head.pathStart = at;
  while (bytes[at] !== QUESTION && classes[bytes[at]!]! & TARGET) at++;
  head.pathEnd = at;
  head.queryStart = bytes[at] === QUESTION ? at + 1 : at;
  while (classes[bytes[at]!]! & TARGET) at++;
  head.targetEnd = at;
  return at;
}

/**
 * Parses the header lines between two offsets. Returns 0, or the HTTP status with which the request
 * must be refused. `isNew` is true for HTTP/1.1, false for HTTP/1.0.
 */
function readHeaders(bytes: Uint8Array, from: number, end: number, isNew: boolean): number {
  let hosts = 0;
  let lengths = 0;
  let codings = 0;
  let lines = 0;
  head.bodyBytes = 0;
  head.isChunked = false;
  head.expectsContinue = false;
  head.headerCount = 0;
  const { headers } = head;
  for (let at = from; at < end; ) {
    if (++lines > HTTP_HEADERS_MAX) return 431;
    const name = at;
    while (classes[bytes[at]!]! & TOKEN) at++;
    const nameEnd = at;
    if (nameEnd === name || bytes[at++] !== COLON) return 400;
    let start = at;
    while (classes[bytes[at]!]! & VALUE) at++;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return 400;
    let stop = at;
    while (start < stop && isBlank(bytes[start]!)) start++;
    while (start < stop && isBlank(bytes[stop - 1]!)) stop--;
    at += 2;

    const index = 4 * (lines - 1);
    headers[index] = name;
    headers[index + 1] = nameEnd;
    headers[index + 2] = start;
    headers[index + 3] = stop;

    // The five headers that decide about the request's end and the connection have names of
    // different lengths, so the length selects the name.
    switch (nameEnd - name) {
      case HOST_NAME.length:
        if (!startsWith(bytes, name, HOST_NAME)) break;
        if (++hosts > 1 || !isHost(bytes, start, stop)) return 400;
        break;
      case CONNECTION.length:
        if (startsWith(bytes, name, CONNECTION) && asksToClose(bytes, start, stop))
          head.isLast = true;
        break;
      case CONTENT_LENGTH.length:
        if (!startsWith(bytes, name, CONTENT_LENGTH)) break;
        head.bodyBytes = lengthIn(bytes, start, stop);
        if (++lengths > 1 || head.bodyBytes < 0) return 400;
        break;
      case TRANSFER_ENCODING.length:
        if (!startsWith(bytes, name, TRANSFER_ENCODING)) break;
        if (++codings > 1 || !isNew || !isWhole(bytes, start, stop, CHUNKED)) return 400;
        head.isChunked = true;
        break;
      case EXPECT.length:
        if (!isNew || !startsWith(bytes, name, EXPECT)) break;
        head.expectsContinue = isWhole(bytes, start, stop, CONTINUE);
    }
  }
  head.headerCount = lines;
  // An HTTP/1.0 request may have no `Host`. Health checks of proxies use HTTP/1.0.
  if (hosts === 0 && isNew) return 400;
  return lengths + codings <= 1 ? 0 : 400;
}

/**
 * Returns the values of all headers with this name in the head that `readHead` parsed last, joined
 * with commas; undefined if there is none. `name` must be in lower case, and `bytes` those given to
 * `readHead`.
 */
export function headerValue(bytes: Buffer, name: string): string | undefined {
  const { headers, headerCount } = head;
  let value: string | undefined;
  for (let index = 0; index < 4 * headerCount; index += 4) {
    const start = headers[index]!;
    if (headers[index + 1]! - start !== name.length || !matchesName(bytes, start, name)) continue;
    const line = bytes.toString("latin1", headers[index + 2], headers[index + 3]);
    value = value === undefined ? line : `${value},${line}`;
  }
  return value;
}

/** Whether the bytes at `at` are `name` (lower-case letters and hyphens), in any letter case. */
function matchesName(bytes: Uint8Array, at: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    if ((bytes[at + i]! | LOWER) !== name.charCodeAt(i)) return false;
  }
  return true;
}

/**
 * Whether the bytes at `at` are `text`. Lower-case letters of `text` also match upper-case letters
 * in the bytes.
 */
function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) {
    const wanted = text[i]!;
    const byte = bytes[at + i]!;
    if (byte !== wanted && (wanted < LETTER_MIN || (byte | LOWER) !== wanted)) return false;
  }
  return true;
}

function isWhole(bytes: Uint8Array, start: number, stop: number, word: Uint8Array): boolean {
  return stop - start === word.length && startsWith(bytes, start, word);
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

function isHost(bytes: Uint8Array, start: number, stop: number): boolean {
  for (let at = start; at < stop; at++) if ((classes[bytes[at]!]! & HOST) === 0) return false;
  return stop > start;
}

/**
 * Returns the decimal number between two offsets. Returns -1 if it is empty, contains another
 * character than a digit, or may be too large for an exact JavaScript number.
 */
function lengthIn(bytes: Uint8Array, start: number, stop: number): number {
  if (stop === start || stop - start > LENGTH_DIGITS_MAX) return -1;
  let length = 0;
  for (let at = start; at < stop; at++) {
    if (bytes[at]! < ZERO || bytes[at]! > NINE) return -1;
    length = 10 * length + bytes[at]! - ZERO;
  }
  return length;
}

/** Whether the value of a `Connection` header contains the option `close`. */
function asksToClose(bytes: Uint8Array, start: number, stop: number): boolean {
  // The bytes around the list are spaces, a colon or the end of the line. None of them is part of a
  // word.
  for (let at = start; at + CLOSE.length <= stop; at++) {
    const isStart = !(classes[bytes[at - 1]!]! & TOKEN);
    const isEnd = !(classes[bytes[at + CLOSE.length]!]! & TOKEN);
    if (isStart && isEnd && startsWith(bytes, at, CLOSE)) return true;
  }
  return false;
}
