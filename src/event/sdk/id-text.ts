import { BACKSLASH, MINUS, NINE, QUOTE, SPACE, ZERO } from "../../json/bytes.ts";
import { stringText } from "../../json/json-scanner.ts";
import { userHash } from "../user-hash.ts";

/** Returns the content of the JSON value between two offsets if it is a string, else undefined. */
export function stringAt(bytes: Buffer, start: number, end: number): string | undefined {
  return start >= 0 && bytes[start] === QUOTE ? stringText(bytes, start, end) : undefined;
}

/**
 * Returns the text of an id, given as a JSON value between two offsets. Numbers are written as in
 * JavaScript, but integers keep all their digits. Returns "" for `null`, objects, arrays, and a
 * missing id (`start` below 0).
 */
export function idText(bytes: Buffer, start: number, end: number): string {
  if (start < 0) return "";
  const first = bytes[start]!;
  if (first === QUOTE) return stringText(bytes, start, end);
  const text = bytes.toString("latin1", start, end);
  if (first === MINUS || (first >= ZERO && first <= NINE)) {
    return /^(?:0|-?[1-9][0-9]*)$/.test(text) ? text : String(Number(text));
  }
  return text === "true" || text === "false" ? text : "";
}

/** Whether the JSON at these offsets is an id: a string, number or boolean, and not blank. */
export function isId(bytes: Buffer, start: number, end: number): boolean {
  if (start < 0) return false;
  const isString = bytes[start] === QUOTE;
  const first = bytes[isString ? start + 1 : start]!;
  if (isString && first > SPACE && first < 0x80 && first !== QUOTE && first !== BACKSLASH) {
    return true;
  }
  return idText(bytes, start, end).trim() !== "";
}

/**
 * Returns the user hash of an id, given as a JSON value between two offsets. Ids with the same text
 * (`idText`) have the same hash, also in a pixel.
 */
export function idHash(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] === QUOTE && !hasBackslash(bytes, start, end)) {
    return userHash(bytes, start + 1, end - 1);
  }
  const text = Buffer.from(JSON.stringify(idText(bytes, start, end)));
  return userHash(text, 1, text.length - 1);
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}
