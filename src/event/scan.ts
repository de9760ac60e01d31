import { PIXEL_LEVELS_MAX, PIXEL_PARAMETERS_MAX, PIXEL_TARGET_BYTES_MAX } from "../limits.ts";
import { MINUS, NINE, PERCENT, ZERO } from "./bytes.ts";
import { isNumber } from "./number.ts";
import { decode, loadQuery, pair, readPair, text } from "./pair.ts";
import { bytes, QUERY } from "./scratch.ts";
import {
  claim,
  clearTree,
  ENCODED,
  FIRST,
  KIND,
  LAST,
  NONE,
  NUMBER,
  nodes,
  STRING,
  VACANT,
  ZONE,
} from "./tree.ts";

/** The first bytes that a number may have as it was sent; `%2D` and `%31` among them. */
const startsNumber = new Uint8Array(256).fill(1, ZERO, NINE + 1);
startsNumber[MINUS] = 1;
startsNumber[PERCENT] = 1;

/**
 * Reads a query into the tree. Parameters beyond a limit are left out: the listener refused
 * such a query, so only a log that was written under other limits holds one.
 */
export function readQuery(query: string, type: "page" | "track"): void {
  if (query.length > PIXEL_TARGET_BYTES_MAX) {
    throw new RangeError(
      `Expected a query of at most ${PIXEL_TARGET_BYTES_MAX} bytes, got ${query.length}`,
    );
  }
  clearTree(type);
  const end = loadQuery(query);
  let at = QUERY;
  let parameters = 0;
  while (at < end && parameters < PIXEL_PARAMETERS_MAX) {
    const from = at;
    at = readPair(from);
    if (at > from + 1) parameters++;
    if (pair.levels === 0 || pair.levels > PIXEL_LEVELS_MAX) continue;
    const node = claim();
    if (node !== NONE) setValue(node);
  }
}

/** Notes where the value is. It is decoded now only where something depends on its text. */
function setValue(node: number): void {
  const start = pair.start;
  const end = pair.end;
  const mayBeNumber = nodes[node + ZONE] === 1 && startsNumber[bytes[start]!] === 1;
  if (pair.encoded && !mayBeNumber && nodes[node + KIND] !== VACANT) {
    setSpan(node, ENCODED, start, end);
  } else if (pair.encoded) {
    decode(start, end);
    setText(node, text.start, text.end, mayBeNumber);
  } else {
    setText(node, start, end, mayBeNumber);
  }
}

function setText(node: number, start: number, end: number, mayBeNumber: boolean): void {
  setSpan(node, mayBeNumber && isNumber(bytes, start, end) ? NUMBER : STRING, start, end);
}

function setSpan(node: number, kind: number, start: number, end: number): void {
  nodes[node + KIND] = kind;
  nodes[node + FIRST] = start;
  nodes[node + LAST] = end;
}
