import {
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../settings/limits.ts";
import { clearStream, endStream, streamPair } from "./json/stream.ts";
import {
  CONTEXT,
  claim,
  clearTree,
  FIRST,
  fieldOf,
  KIND,
  LAST,
  NAME,
  NAME_END,
  NONE,
  NUMBER,
  NUMERIC,
  nodes,
  PROPERTIES,
  STRING,
  vacant,
} from "./json/tree.ts";
import { decode, ends, loadQuery, pair, type QueryText, readPair, starts, text } from "./pair.ts";
import { isNumber } from "./text/number.ts";
import { bytes, isSame, QUERY } from "./text/scratch.ts";

/**
 * Reads the parameters of a query string into a tree of nodes. Works for every query, unlike the
 * faster `streamQuery`. Skips parameters that exceed a limit. Throws `RangeError` if the query is
 * longer than `PIXEL_TARGET_BYTES_MAX`.
 */
export function readQuery(query: QueryText, type: "page" | "track"): void {
  const end = load(query, type);
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

/**
 * Writes the parameters of a query string as JSON to the scratch buffer, in one pass. Returns false
 * if this is impossible; the caller must then call `readQuery`. Throws the same error as
 * `readQuery`.
 */
export function streamQuery(query: QueryText, type: "page" | "track"): boolean {
  const end = load(query, type);
  clearStream();
  let at = QUERY;
  let parameters = 0;
  let field = PROPERTIES;
  while (at < end && parameters < PIXEL_PARAMETERS_MAX) {
    const from = at;
    at = readPair(from);
    if (at > from + 1) parameters++;
    if (pair.levels === 0 || pair.levels > PIXEL_LEVELS_MAX) continue;
    if (!isFirst(field)) field = fieldOf();
    if (field === NONE || field === PROPERTIES || field === CONTEXT) {
      if (!streamPair(field)) return false;
    } else if (pair.levels === 1 && vacant(field) !== NONE) {
      setValue(field);
    }
  }
  endStream();
  return true;
}

function load(query: QueryText, type: "page" | "track"): number {
  const length = typeof query === "string" ? query.length : query.end - query.start;
  if (length > PIXEL_TARGET_BYTES_MAX) {
    throw new RangeError(
      `Expected a query of at most ${PIXEL_TARGET_BYTES_MAX} bytes, got ${length}`,
    );
  }
  clearTree(type);
  return loadQuery(query);
}

/**
 * Whether the name of the node `field` is equal to the first component (the text before the first
 * dot) of the parameter name read last by `readPair`. False if `field` is NONE.
 */
function isFirst(field: number): boolean {
  return (
    field !== NONE && isSame(nodes[field + NAME]!, nodes[field + NAME_END]!, starts[0]!, ends[0]!)
  );
}

/** Sets a node's value to the value of the query parameter read last by `readPair`. */
function setValue(node: number): void {
  let { start, end } = pair;
  if (pair.encoded) {
    decode(start, end);
    start = text.start;
    end = text.end;
  }
  nodes[node + FIRST] = start;
  nodes[node + LAST] = end;
  nodes[node + KIND] = nodes[node + NUMERIC] === 1 && isNumber(bytes, start, end) ? NUMBER : STRING;
}
