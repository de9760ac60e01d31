import { BACKSLASH, QUOTE, SPACE } from "../../json/bytes.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Returns valid JSON without line breaks, because destinations write each event on one line. If
 * `json` contains no line break, returns `json` itself. Otherwise returns a copy without any white
 * space between tokens.
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
