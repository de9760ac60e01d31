import { HTTP_HEADERS_MAX, HTTP_METHOD_CHARS_MAX } from "../settings/limits.ts";

/**
 * Reads the head of a request (RFC 9112) from bytes, without allocating. Strict where parsers
 * disagree, since that is how requests are smuggled: no bare CR or LF, no folded lines, no space
 * before a colon, one `Host`, at most one `Content-Length`, digits alone, never with a transfer
 * coding.
 */

/** The last head that `readHead` read, as offsets into its bytes. */
export const head = {
  methodStart: 0,
  methodEnd: 0,
  /** Path of the target; an absolute target's scheme and authority are left out. */
  pathStart: 0,
  pathEnd: 0,
  /** Where the query begins, behind the `?`; the target's end if there is no query. */
  queryStart: 0,
  targetEnd: 0,
  /** Whether the client says that no further request follows on the connection. */
  isLast: false,
  /** Length of the body that follows. */
  bodyBytes: 0,
  /** Whether the body comes in chunks, of a length that is not known before. */
  isChunked: false,
  /** Whether the client waits to be asked for its body (`Expect: 100-continue`). */
  expectsContinue: false,
  /** Lines of `X-Forwarded-For`: start and end of the value of each. */
  forwardedLines: 0,
  forwarded: new Int32Array(2 * HTTP_HEADERS_MAX),
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

/** Bits of a byte: the parts of a head in which it may occur. */
const TOKEN = 1;
const TARGET = 2;
const VALUE = 4;
const HOST = 8;
const METHOD = 16;
const classes = new Uint8Array(256);
const mark = (kind: number, pattern: RegExp) => {
  for (let byte = 0; byte < 256; byte++) {
    if (pattern.test(String.fromCharCode(byte))) classes[byte]! |= kind;
  }
};
// Every method that is registered (RFC 9110 §16.1).
mark(METHOD, /[A-Z-]/);
mark(TOKEN, /[!#$%&'*+.^_`|~0-9A-Za-z-]/);
// Raw UTF-8 is not allowed in a URL, yet browsers and scripts send it in queries.
mark(TARGET, /[\x21-\x7e\x80-\xff]/);
mark(VALUE, /[\t\x20-\x7e\x80-\xff]/);
mark(HOST, /[A-Za-z0-9._~%:[\]-]/);

const ascii = (text: string) => Buffer.from(text, "latin1");
const VERSION = ascii(" HTTP/1.");
const HTTP = ascii("http://");
const HTTPS = ascii("https://");
const HOST_NAME = ascii("host");
const CONNECTION = ascii("connection");
const CONTENT_LENGTH = ascii("content-length");
const TRANSFER_ENCODING = ascii("transfer-encoding");
const FORWARDED_FOR = ascii("x-forwarded-for");
const EXPECT = ascii("expect");
const CONTINUE = ascii("100-continue");
const CLOSE = ascii("close");
const CHUNKED = ascii("chunked");

/** Whether a head can begin with this byte, when no more than the byte has come. */
export function canBeginHead(byte: number): boolean {
  return (classes[byte]! & METHOD) !== 0;
}

/** Whether a line of the incomplete head in `bytes[from, end)` does not end with CRLF. */
export function hasBareFeed(bytes: Buffer, from: number, end: number): boolean {
  let at = bytes.indexOf(LF, from);
  while (at >= 0 && at < end) {
    if (bytes[at - 1] !== CR) return true;
    at = bytes.indexOf(LF, at + 1);
  }
  return false;
}

/** Whether this byte may be part of a header's value. */
export function isValueByte(byte: number): boolean {
  return (classes[byte]! & VALUE) !== 0;
}

/**
 * Reads the head in `bytes[from, end)`, which ends with an empty line, into `head`. Returns 0, or
 * the status to refuse it with: 400, 431 or 505.
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
  // A connection of HTTP/1.0 ends after the answer unless its client asks for more.
  head.isLast = minor === ZERO;
  return readHeaders(bytes, at + 3, end - 2, minor >= ONE);
}

/** Reads the target at `from`, and returns its end; -1 when it is neither a path nor a URL. */
function readTarget(bytes: Uint8Array, from: number): number {
  let at = from;
  if (bytes[at] !== SLASH) {
    const scheme = isScheme(bytes, at, HTTP) ? HTTP : HTTPS;
    if (scheme === HTTPS && !isScheme(bytes, at, HTTPS)) return -1;
    at += scheme.length;
    const host = at;
    while (classes[bytes[at]!]! & HOST) at++;
    // A URL without a path means `/` (RFC 9112 §3.2.1).
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

/** Reads the lines in `[from, end)`; returns 0 or the status to refuse them with. */
function readHeaders(bytes: Uint8Array, from: number, end: number, isNew: boolean): number {
  let hosts = 0;
  let lengths = 0;
  let codings = 0;
  let lines = 0;
  head.bodyBytes = 0;
  head.isChunked = false;
  head.expectsContinue = false;
  head.forwardedLines = 0;
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

    // The six header names that matter here differ in their length.
    switch (nameEnd - name) {
      case HOST_NAME.length:
        if (!isWord(bytes, name, HOST_NAME)) break;
        if (++hosts > 1 || !isHost(bytes, start, stop)) return 400;
        break;
      case CONNECTION.length:
        if (isWord(bytes, name, CONNECTION) && asksToClose(bytes, start, stop)) head.isLast = true;
        break;
      case CONTENT_LENGTH.length:
        if (!isWord(bytes, name, CONTENT_LENGTH)) break;
        if (++lengths > 1 || !isLength(bytes, start, stop)) return 400;
        head.bodyBytes = numberIn(bytes, start, stop);
        break;
      case TRANSFER_ENCODING.length:
        if (!isWord(bytes, name, TRANSFER_ENCODING)) break;
        if (++codings > 1 || !isNew || !isWhole(bytes, start, stop, CHUNKED)) return 400;
        head.isChunked = true;
        break;
      case FORWARDED_FOR.length:
        if (!isWord(bytes, name, FORWARDED_FOR)) break;
        head.forwarded[2 * head.forwardedLines] = start;
        head.forwarded[2 * head.forwardedLines + 1] = stop;
        head.forwardedLines++;
        break;
      case EXPECT.length:
        if (!isNew || !isWord(bytes, name, EXPECT)) break;
        head.expectsContinue = isWhole(bytes, start, stop, CONTINUE);
    }
  }
  // HTTP/1.0 has no `Host`, and health checks of proxies speak HTTP/1.0.
  if (hosts === 0 && isNew) return 400;
  return lengths + codings <= 1 ? 0 : 400;
}

function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** Whether this scheme, its letters in any case, begins at `at`. */
function isScheme(bytes: Uint8Array, at: number, scheme: Uint8Array): boolean {
  for (let i = 0; i < scheme.length; i++) {
    const wanted = scheme[i]!;
    const byte = bytes[at + i]!;
    if (byte !== wanted && (wanted < LETTER_MIN || (byte | LOWER) !== wanted)) return false;
  }
  return true;
}

/** Whether the letters and hyphens at `at` are this word, in any case. */
function isWord(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) {
    if ((bytes[at + i]! | LOWER) !== word[i]) return false;
  }
  return true;
}

function isWhole(bytes: Uint8Array, start: number, stop: number, word: Uint8Array): boolean {
  return stop - start === word.length && isWord(bytes, start, word);
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

function isHost(bytes: Uint8Array, start: number, stop: number): boolean {
  for (let at = start; at < stop; at++) if ((classes[bytes[at]!]! & HOST) === 0) return false;
  return stop > start;
}

/** Whether the bytes are a length in decimal digits that a number holds exactly. */
function isLength(bytes: Uint8Array, start: number, stop: number): boolean {
  for (let at = start; at < stop; at++) {
    if (bytes[at]! < ZERO || bytes[at]! > NINE) return false;
  }
  return stop > start && stop - start <= LENGTH_DIGITS_MAX;
}

function numberIn(bytes: Uint8Array, start: number, stop: number): number {
  let number = 0;
  for (let at = start; at < stop; at++) number = 10 * number + bytes[at]! - ZERO;
  return number;
}

/** Whether a list of connection options contains `close`. */
function asksToClose(bytes: Uint8Array, start: number, stop: number): boolean {
  // Around the list stand blanks, a colon and the line's end, none of which is part of a word.
  for (let at = start; at + CLOSE.length <= stop; at++) {
    const isStart = !(classes[bytes[at - 1]!]! & TOKEN);
    const isEnd = !(classes[bytes[at + CLOSE.length]!]! & TOKEN);
    if (isStart && isEnd && isWord(bytes, at, CLOSE)) return true;
  }
  return false;
}
