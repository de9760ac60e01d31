import {
  BRACE_CLOSE,
  BRACE_OPEN,
  BRACKET_CLOSE,
  BRACKET_OPEN,
  COLON,
  COMMA,
} from "../../json/bytes.ts";
import { PIXEL_ARRAY_INDEX_MAX, PIXEL_LEVELS_MAX } from "../../settings/limits.ts";
import { arrayIndex } from "../text/number.ts";
import { bytes, copySpan, keep } from "../text/scratch.ts";
import {
  ARRAY,
  FIRST,
  KIND,
  LAST,
  LENGTH,
  NAME,
  NAME_END,
  NEXT,
  NONE,
  NUMBER,
  nodes,
  STRING,
} from "./tree.ts";
import { writeString } from "./value.ts";

const NULL = keep("null");

/**
 * Number of entries in one row of `rows`, the working memory for sorting the elements of an array
 * by index. Each nesting level has its own row, because an array may contain other arrays.
 */
const ROW = PIXEL_ARRAY_INDEX_MAX + 1;
const rows = new Int32Array(PIXEL_LEVELS_MAX * ROW);

/**
 * Writes the value of a node (a field of the event, or a part of it) as JSON at offset `out` of the
 * scratch buffer. Returns the offset after the JSON. `level` is the node's nesting level.
 */
export function emitValue(node: number, out: number, level: number): number {
  const kind = nodes[node + KIND]!;
  if (kind === STRING) return writeString(nodes[node + FIRST]!, nodes[node + LAST]!, out);
  if (kind === NUMBER) return copySpan(nodes[node + FIRST]!, nodes[node + LAST]!, out);
  if (kind === ARRAY) return emitArray(node, out, level);
  bytes[out++] = BRACE_OPEN;
  const members = emitMembers(node, out, level);
  // Each member ends with a comma; the closing brace overwrites the last one.
  out = members === out ? out + 1 : members;
  bytes[out - 1] = BRACE_CLOSE;
  return out;
}

/**
 * Writes each child of an object node as `"name":value,`. Returns the offset after the last comma,
 * or `out` if there is no child.
 */
export function emitMembers(node: number, out: number, level: number): number {
  let child = nodes[node + FIRST]!;
  while (child !== NONE) {
    out = writeString(nodes[child + NAME]!, nodes[child + NAME_END]!, out);
    bytes[out++] = COLON;
    out = emitValue(child, out, level + 1);
    bytes[out++] = COMMA;
    child = nodes[child + NEXT]!;
  }
  return out;
}

/**
 * Writes an array node as JSON. Sorts the elements first, because the parameters of a query may
 * name the indices in any order. An index that no parameter names becomes `null`.
 */
function emitArray(node: number, out: number, level: number): number {
  const row = level * ROW;
  let child = nodes[node + FIRST]!;
  while (child !== NONE) {
    rows[row + arrayIndex(bytes, nodes[child + NAME]!, nodes[child + NAME_END]!)] = child;
    child = nodes[child + NEXT]!;
  }
  const length = nodes[node + LENGTH]!;
  bytes[out++] = BRACKET_OPEN;
  for (let index = 0; index < length; index++) {
    child = rows[row + index]!;
    rows[row + index] = NONE;
    out = child === NONE ? copySpan(NULL.start, NULL.end, out) : emitValue(child, out, level + 1);
    bytes[out++] = COMMA;
  }
  bytes[out - 1] = BRACKET_CLOSE;
  return out;
}
