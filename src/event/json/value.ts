import { MINUS, NINE, PERCENT, QUOTE, ZERO } from "../../json/bytes.ts";
import { decode, pair, text } from "../pair.ts";
import { isText } from "../text/json-text.ts";
import { isNumber } from "../text/number.ts";
import { percentDecode } from "../text/percent.ts";
import { bytes, copySpan } from "../text/scratch.ts";

/**
 * For each byte, 1 if a number in a query may begin with the byte, and 0 if not. The entry of `%`
 * is 1 too, because a sign or digit may be percent-encoded.
 */
const startsNumber = new Uint8Array(256).fill(1, ZERO, NINE + 1);
startsNumber[MINUS] = 1;
startsNumber[PERCENT] = 1;

/**
 * Writes the value of the query parameter read last by `readPair` as JSON to offset `out`: a number
 * if `isInNumberZone` and the value looks like one, otherwise a string. Returns the offset after
 * it.
 */
export function writeValue(out: number, isInNumberZone: boolean): number {
  const { start, end } = pair;
  if (isInNumberZone && startsNumber[bytes[start]!] === 1) return writeNumberOrString(out);
  return pair.encoded ? writeEncoded(start, end, out) : writeString(start, end, out);
}

function writeNumberOrString(out: number): number {
  let { start, end } = pair;
  if (pair.encoded) {
    decode(start, end);
    start = text.start;
    end = text.end;
  }
  return isNumber(bytes, start, end) ? copySpan(start, end, out) : writeString(start, end, out);
}

/**
 * Decodes a percent-encoded value, and writes it as a JSON string at offset `out`. Returns the
 * offset after the string.
 */
function writeEncoded(start: number, end: number, out: number): number {
  bytes[out] = QUOTE;
  let to = percentDecode(bytes, start, end, out + 1);
  if (to < 0) {
    to = -to;
    if (!isText(bytes, out + 1, to)) {
      decode(start, end);
      to = copySpan(text.start, text.end, out + 1);
    }
  }
  bytes[to] = QUOTE;
  return to + 1;
}

/** Writes the JSON-escaped text between `start` and `end` to `out`, in double quotes. */
export function writeString(start: number, end: number, out: number): number {
  bytes[out] = QUOTE;
  const to = copySpan(start, end, out + 1);
  bytes[to] = QUOTE;
  return to + 1;
}
