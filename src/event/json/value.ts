import { decode, pair, text } from "../pair.ts";
import { MINUS, NINE, PERCENT, QUOTE, ZERO } from "../text/bytes.ts";
import { isText } from "../text/json-text.ts";
import { isNumber } from "../text/number.ts";
import { percentDecode } from "../text/percent.ts";
import { bytes } from "../text/scratch.ts";
import { copySpan } from "../text/span.ts";

/**
 * The first bytes that a number may have as a client sends it; an encoded sign or digit starts with
 * `%`.
 */
const startsNumber = new Uint8Array(256).fill(1, ZERO, NINE + 1);
startsNumber[MINUS] = 1;
startsNumber[PERCENT] = 1;

/** Writes the value of the pair read last as JSON at `out`, and returns the offset after it. */
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
 * Decodes a value into the place where the event has it; few values have to be moved afterwards.
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

/** Writes a span of JSON text in quotes. */
export function writeString(start: number, end: number, out: number): number {
  bytes[out] = QUOTE;
  const to = copySpan(start, end, out + 1);
  bytes[to] = QUOTE;
  return to + 1;
}
