import {
  BACKSLASH,
  BRACE_CLOSE,
  BRACE_OPEN,
  BRACKET_CLOSE,
  BRACKET_OPEN,
  COLON,
  COMMA,
  DOT,
  hexValue,
  LETTER_N,
  LETTER_U,
  MINUS,
  NINE,
  PLUS,
  QUOTE,
  SPACE,
  utf8Text,
  ZERO,
} from "./bytes.ts";

export { loadText } from "./text-memory.ts";

/**
 * Finds values in JSON text, given as bytes, without building objects. The scanner accepts exactly
 * the texts that `JSON.parse` accepts, at any depth. The caller makes sure that the bytes are
 * well-formed UTF-8; then every byte above 0x7F that the scanner accepts is part of a string.
 *
 * The functions that scan take a text that `loadText` has returned. `loadText` puts zeros after the
 * text. A zero is not part of any JSON, so each loop stops there without a check for the end of the
 * text, with which a scan takes 1.4 times as long. Functions that return an offset return
 * `NOT_JSON` for text that is not JSON.
 */

/** Returned by a function that expects JSON and finds other bytes. */
export const NOT_JSON = -1;
/** Returned by `firstMember` and `nextMember` when the object has no further member. */
export const OBJECT_END = -2;

/** Results of the scanner's last calls, in addition to the offsets that its functions return. */
export const scanned = {
  /**
   * Offsets of the name of the member that `firstMember` or `nextMember` found last: `nameStart` is
   * that of its opening quote, `nameEnd` the one after its closing quote.
   */
  nameStart: 0,
  nameEnd: 0,
  /** Offset after the closing brace that `firstMember` or `nextMember` found most recently. */
  objectEnd: 0,
  /**
   * Whether the member name that `firstMember` or `nextMember` found last contains a backslash.
   * Valid only until the next string is scanned: a backslash in that string also sets this to true.
   */
  isEscaped: false,
  /**
   * Largest nesting of the values that `skipValue` has skipped since the caller set this to 0.
   * Strings, numbers, booleans and `null` have the nesting 0; an object or array adds 1 to that of
   * its most nested value.
   */
  levels: 0,
  /**
   * Number of values that `skipValue` has skipped since the caller set this to 0. Each string,
   * number, boolean, `null`, object and array counts, at any depth.
   */
  values: 0,
};

const LETTER_A = 0x61;
const LETTER_E = 0x65;
const LETTER_F = 0x66;
const LETTER_L = 0x6c;
const LETTER_R = 0x72;
const LETTER_S = 0x73;
const LETTER_T = 0x74;
const LOWER_CASE_BIT = 0x20;

const isSpace = new Uint8Array(256);
for (const byte of [0x09, 0x0a, 0x0d, SPACE]) isSpace[byte] = 1;

/** For each byte, 1 when it may stand in a JSON string without an escape. */
const isPlain = new Uint8Array(256).fill(1, SPACE);
isPlain[QUOTE] = 0;
isPlain[BACKSLASH] = 0;

/** For each byte, 1 when a backslash followed by this byte is a complete escape, such as `\n`. */
const isEscape = new Uint8Array(256);
for (const letter of '"\\/bfnrt') isEscape[letter.charCodeAt(0)] = 1;

/**
 * Stack of `skipValue` with an entry for each open object or array: 1 if it is the value of a
 * member of an object, 0 if it is an element of an array or the outermost value.
 */
let inObjectAt = new Uint8Array(64);

/** Returns the offset of the first byte at or after `start` that is not white space. */
export function tokenAt(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace[bytes[at]!] === 1) at++;
  return at;
}

/** Returns the offset after the JSON value at `start`, which has no white space before it. */
export function skipValue(bytes: Buffer, start: number): number {
  let at = start;
  let level = 0;
  let inObject = 0;
  let deepest = 0;
  let values = 0;
  for (;;) {
    values++;
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = stringEnd(bytes, at);
    } else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) {
      if (level === inObjectAt.length) grow();
      inObjectAt[level] = inObject;
      level++;
      if (level > deepest) deepest = level;
      inObject = byte === BRACE_OPEN ? 1 : 0;
      at = nextToken(bytes, at);
      if (bytes[at] !== (inObject === 1 ? BRACE_CLOSE : BRACKET_CLOSE)) {
        if (inObject === 1) at = valueAfterName(bytes, at);
        if (at < 0) return NOT_JSON;
        continue;
      }
      level--;
      inObject = inObjectAt[level]!;
      at++;
    } else {
      at = wordEnd(bytes, at);
    }
    if (at < 0) return NOT_JSON;
    // A value has ended: the next value follows a comma, and brackets close containers.
    for (;;) {
      if (level === 0) {
        if (deepest > scanned.levels) scanned.levels = deepest;
        scanned.values += values;
        return at;
      }
      let next = bytes[at]!;
      if (next <= SPACE) {
        at = tokenAt(bytes, at);
        next = bytes[at]!;
      }
      if (next === COMMA) {
        at = nextToken(bytes, at);
        if (inObject === 1) at = valueAfterName(bytes, at);
        if (at < 0) return NOT_JSON;
        break;
      }
      if (next !== (inObject === 1 ? BRACE_CLOSE : BRACKET_CLOSE)) return NOT_JSON;
      level--;
      inObject = inObjectAt[level]!;
      at++;
    }
  }
}

function grow(): void {
  const larger = new Uint8Array(2 * inObjectAt.length);
  larger.set(inObjectAt);
  inObjectAt = larger;
}

/** Returns the offset of the first byte after `at` that is not white space. */
function nextToken(bytes: Buffer, at: number): number {
  return bytes[at + 1]! <= SPACE ? tokenAt(bytes, at + 1) : at + 1;
}

/**
 * Finds the first member of the object whose opening brace is at `start`. Stores the offsets of its
 * name in `scanned`, and returns the offset of its value. Returns OBJECT_END for an empty object.
 */
export function firstMember(bytes: Buffer, start: number): number {
  const at = nextToken(bytes, start);
  if (bytes[at] !== BRACE_CLOSE) return memberAt(bytes, at);
  scanned.objectEnd = at + 1;
  return OBJECT_END;
}

/**
 * Finds the member after the one whose value ends at `valueEnd`. Stores the offsets of its name in
 * `scanned`, and returns the offset of its value. Returns OBJECT_END after the last member.
 */
export function nextMember(bytes: Buffer, valueEnd: number): number {
  const at = bytes[valueEnd]! <= SPACE ? tokenAt(bytes, valueEnd) : valueEnd;
  const byte = bytes[at]!;
  if (byte === COMMA) return memberAt(bytes, nextToken(bytes, at));
  if (byte !== BRACE_CLOSE) return NOT_JSON;
  scanned.objectEnd = at + 1;
  return OBJECT_END;
}

function memberAt(bytes: Buffer, at: number): number {
  scanned.isEscaped = false;
  const nameEnd = bytes[at] === QUOTE ? stringEnd(bytes, at) : NOT_JSON;
  if (nameEnd < 0) return NOT_JSON;
  scanned.nameStart = at;
  scanned.nameEnd = nameEnd;
  return valueAfterColon(bytes, nameEnd);
}

/** Returns the offset of the value after the name that begins at `start`. */
function valueAfterName(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) return NOT_JSON;
  const nameEnd = stringEnd(bytes, start);
  return nameEnd < 0 ? NOT_JSON : valueAfterColon(bytes, nameEnd);
}

function valueAfterColon(bytes: Buffer, nameEnd: number): number {
  const colon = bytes[nameEnd]! <= SPACE ? tokenAt(bytes, nameEnd) : nameEnd;
  return bytes[colon] === COLON ? nextToken(bytes, colon) : NOT_JSON;
}

/** Returns the offset after the string whose opening quote is at `start`. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  // Four bytes in a round take less time than one.
  for (; ; at += 4) {
    if (isPlain[bytes[at]!] === 0) break;
    if (isPlain[bytes[at + 1]!] === 0) {
      at += 1;
      break;
    }
    if (isPlain[bytes[at + 2]!] === 0) {
      at += 2;
      break;
    }
    if (isPlain[bytes[at + 3]!] === 0) {
      at += 3;
      break;
    }
  }
  return bytes[at] === QUOTE ? at + 1 : escapedEnd(bytes, at);
}

function escapedEnd(bytes: Buffer, start: number): number {
  scanned.isEscaped = true;
  let at = start;
  for (;;) {
    const byte = bytes[at]!;
    if (isPlain[byte] === 1) {
      at++;
      continue;
    }
    if (byte === QUOTE) return at + 1;
    if (byte !== BACKSLASH) return NOT_JSON;
    if (isEscape[bytes[at + 1]!] === 1) {
      at += 2;
      continue;
    }
    if (bytes[at + 1] !== LETTER_U) return NOT_JSON;
    for (let i = 2; i < 6; i++) if (hexValue[bytes[at + i]!]! < 0) return NOT_JSON;
    at += 6;
  }
}

/** Returns the offset after the number, `true`, `false` or `null` that begins at `start`. */
function wordEnd(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === LETTER_T) {
    return isWord(bytes, start + 1, LETTER_R, LETTER_U, LETTER_E) ? start + 4 : NOT_JSON;
  }
  if (first === LETTER_F) {
    const isFalse = bytes[start + 1] === LETTER_A;
    return isFalse && isWord(bytes, start + 2, LETTER_L, LETTER_S, LETTER_E) ? start + 5 : NOT_JSON;
  }
  if (first === LETTER_N) {
    return isWord(bytes, start + 1, LETTER_U, LETTER_L, LETTER_L) ? start + 4 : NOT_JSON;
  }
  return numberEnd(bytes, start);
}

function isWord(bytes: Buffer, at: number, a: number, b: number, c: number): boolean {
  return bytes[at] === a && bytes[at + 1] === b && bytes[at + 2] === c;
}

function numberEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  let at = bytes[first] === ZERO ? first + 1 : digitsEnd(bytes, first);
  if (at > 0 && bytes[at] === DOT) at = digitsEnd(bytes, at + 1);
  if (at > 0 && (bytes[at]! | LOWER_CASE_BIT) === LETTER_E) {
    const sign = bytes[at + 1];
    at = digitsEnd(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1);
  }
  return at;
}

/** Returns the offset after the digits at `start`; `NOT_JSON` if there are none. */
function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at > start ? at : NOT_JSON;
}

/** Decodes the JSON string between two offsets, which include its quotes. */
export function stringText(bytes: Buffer, start: number, end: number): string {
  const content = utf8Text(bytes, start + 1, end - 1);
  return content.includes("\\") ? JSON.parse(`"${content}"`) : content;
}
