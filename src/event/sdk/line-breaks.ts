import { BACKSLASH, QUOTE, SPACE } from "../../json/bytes.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Removes all line breaks from a JSON text, because destinations write each event on one line.
 * Returns `json` itself if it contains none, otherwise a copy without white space between tokens.
 */
export function withoutLineBreaks(json: Buffer): Buffer {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  const short = Buffer.allocUnsafe(json.length);
  let out = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (!isInString && byte <= SPACE) continue;
    short[out++] = byte;
    if (byte === QUOTE) isInString = !isInString;
    else if (byte === BACKSLASH) short[out++] = json[++at]!;
  }
  return short.subarray(0, out);
}
