import { PIXEL_LEVELS_MAX, PIXEL_PARAMETERS_MAX, PIXEL_TARGET_BYTES_MAX } from "../limits.ts";
import { isNumber } from "./number.ts";
import { decode, loadQuery, pair, readPair, text } from "./pair.ts";
import { bytes, QUERY } from "./scratch.ts";
import { claim, clearTree, FIRST, KIND, LAST, NONE, NUMBER, nodes, STRING, ZONE } from "./tree.ts";

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

function setValue(node: number): void {
  let start = pair.start;
  let end = pair.end;
  if (pair.encoded) {
    decode(start, end);
    start = text.start;
    end = text.end;
  }
  nodes[node + FIRST] = start;
  nodes[node + LAST] = end;
  nodes[node + KIND] = nodes[node + ZONE] === 1 && isNumber(bytes, start, end) ? NUMBER : STRING;
}
