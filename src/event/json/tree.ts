import { PIXEL_LEVELS_MAX, PIXEL_PARAMETERS_MAX } from "../../settings/limits.ts";
import { ends, pair, starts } from "../pair.ts";
import { arrayIndex } from "../text/number.ts";
import { ARRAY_ELEMENTS_MAX, bytes, hashOf, isSame, keep } from "../text/scratch.ts";

/**
 * Builds the event from a query's parameters as a tree of nodes, which is then written as JSON. The
 * tree is needed because parameters come in any order, but JSON is nested. A node lies in the
 * preallocated array `nodes` and is identified by its offset there. Its name and text are spans of
 * the scratch buffer. Its children form a linked list, in the order in which they were added. One
 * hash table finds a child by parent and name.
 *
 * When two parameters have the same name, the first counts. The fields with a fixed meaning are in
 * the tree from the start, so that no parameter can replace them.
 */

/**
 * Offset of a node's kind (OBJECT, ARRAY, …) within the node. A node is a row of numbers in `nodes`
 * for a field of the event or a part of it; KIND to SLOT are offsets in this row.
 */
export const KIND = 0;
/**
 * Offset, within a node, of a flag that the node's children inherit. The flag is 1 if values that
 * look like numbers are written as numbers, as in `properties` and `context.screen`.
 */
export const NUMERIC = 1;
export const NEXT = 2;
export const NAME = 3;
export const NAME_END = 4;
/**
 * Offset, within an object or array node, of the position of its first child in `nodes`, or NONE.
 * In other nodes, the number is the start of the value's text in the scratch buffer. LAST is the
 * last child, or the end of the text.
 */
export const FIRST = 5;
export const LAST = 6;
/** Offset, within an array node, of the number of array elements, including gaps. */
export const LENGTH = 7;
const PARENT = 8;
const HASH = 9;
/** Offset, within a node, of the index of the node's entry in `slots`, the hash table of nodes. */
const SLOT = 10;
const NODE_FIELDS = 11;

/** Kind of a node that is an object: the number at the node's offset KIND. */
const OBJECT = 1;
export const ARRAY = 2;
/** Kind of a string node, whose text in the scratch buffer is JSON text without the quotes. */
export const STRING = 3;
export const NUMBER = 4;
/** Kind of a node for a string field that no parameter has set yet. */
const VACANT = 5;
/**
 * Kind of a field that only the server may set, such as `receivedAt`. A parameter with this name in
 * the request's query is ignored.
 */
const OWNED = 6;

/**
 * Offset of the root node in `nodes`. The same number means “no node” (NONE): no reference to a
 * child and no search for a node ever yields the root.
 */
export const ROOT = 0;
export const NONE = 0;

const FIXED_NODES_MAX = 20;
const NODES_MAX = FIXED_NODES_MAX + PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX;
export const nodes = new Int32Array(NODE_FIELDS * NODES_MAX);

/**
 * Number of bits of an index into `slots`, the hash table that finds a node by its parent and name.
 * The table is never cleared: an entry is valid only if its node is in use and refers back to it.
 */
const SLOT_BITS = 15;
const slots = new Int32Array(1 << SLOT_BITS);

let used = NODE_FIELDS;
/**
 * Number of elements in all arrays of the query together, including gaps that no parameter sets.
 */
let elements = 0;
/** Number of array elements that the query's parameters set, in all arrays together. */
let filledElements = 0;
/** Slot without a node in the hash table, found by the last `childOf`. `insert` uses it. */
let freeSlot = 0;
/**
 * Nodes that the last call of `claim` found or created, one for each component of the parameter's
 * name. If the next name starts with the same components, `claim` takes their nodes from here.
 */
const path = new Int32Array(PIXEL_LEVELS_MAX);
let pathLevels = 0;

nodes[ROOT + KIND] = OBJECT;
nodes[ROOT + SLOT] = -1;
for (const name of ["type", "channel", "messageId", "integrations", "writeKey"]) fix(name, OWNED);
for (const name of ["originalTimestamp", "sentAt", "receivedAt", "request_ip"]) fix(name, OWNED);
export const ANONYMOUS_ID = fix("anonymousId", VACANT);
export const USER_ID = fix("userId", VACANT);
export const PAGE_NAME = fix("name", VACANT);
export const EVENT_NAME = fix("event", VACANT);
export const PROPERTIES = fix("properties", OBJECT);
export const CONTEXT = fix("context", OBJECT);
nodes[PROPERTIES + NUMERIC] = 1;
const SCREEN = keep("screen");
const fixedEnd = used;

/**
 * Adds a node for a field with a fixed meaning, such as `userId`. The node is not in the root's
 * list of children, because such fields are written separately, in a fixed order.
 */
function fix(name: string, kind: number): number {
  const { start, end } = keep(name);
  const hash = hashOf(start, end);
  childOf(ROOT, hash, start, end);
  return insert(ROOT, kind, start, end, hash);
}

/** Clears the tree for the next query. If `type` is "page", a parameter `event` is ignored. */
export function clearTree(type: "page" | "track"): void {
  used = fixedEnd;
  pathLevels = 0;
  elements = 0;
  filledElements = 0;
  nodes[ANONYMOUS_ID + KIND] = VACANT;
  nodes[USER_ID + KIND] = VACANT;
  nodes[PAGE_NAME + KIND] = VACANT;
  nodes[EVENT_NAME + KIND] = type === "track" ? VACANT : OWNED;
  nodes[ROOT + FIRST] = NONE;
  nodes[PROPERTIES + FIRST] = NONE;
  nodes[CONTEXT + FIRST] = NONE;
}

/** Returns the number of gaps: array elements of this query that no parameter sets. */
export function arrayGaps(): number {
  return elements - filledElements;
}

/**
 * Returns the node for the parameter name read last by `readPair`. Creates the node and its missing
 * parents if necessary. The caller sets the node's kind and text. Returns NONE if the parameter
 * must be ignored, because:
 * - an earlier parameter has set the same name;
 * - an earlier parameter has set a value where this name needs an object or array, or the reverse;
 * - only the server may set the field;
 * - the arrays of the event would have too many elements.
 */
export function claim(): number {
  const levels = pair.levels;
  let node = ROOT;
  let level = 0;
  while (level < pathLevels && level < levels && hasNameAt(path[level]!, level)) {
    node = path[level++]!;
  }
  let hash = 0;
  while (level < levels) {
    hash = hashOf(starts[level]!, ends[level]!);
    const child = childOf(node, hash, starts[level]!, ends[level]!);
    if (child === NONE) break;
    node = child;
    path[level++] = child;
  }
  pathLevels = level;
  const kind = nodes[node + KIND]!;
  if (level === levels) return kind === VACANT ? node : NONE;
  if (kind === OBJECT && level + 1 === levels) return addChild(node, STRING, level, hash);
  if (kind !== OBJECT && kind !== ARRAY) return NONE;
  return reserveElements(node, level) ? addPath(node, level, hash) : NONE;
}

/**
 * Adds a chain of nodes below `above`: one for each component of the parameter name read last by
 * `readPair`, beginning with level `from`. `firstHash` is the hash of the component at `from`.
 * Returns the last node.
 */
function addPath(above: number, from: number, firstHash: number): number {
  const last = pair.levels - 1;
  let node = above;
  let hash = firstHash;
  for (let level = from; level < last; level++) {
    const start = starts[level + 1]!;
    const end = ends[level + 1]!;
    // The next component decides whether this one becomes an array or an object.
    const child = addChild(node, arrayIndex(bytes, start, end) < 0 ? OBJECT : ARRAY, level, hash);
    if (node === CONTEXT && isScreen(starts[level]!, ends[level]!)) nodes[child + NUMERIC] = 1;
    node = child;
    hash = hashOf(start, end);
    childOf(node, hash, start, end);
  }
  return addChild(node, STRING, last, hash);
}

/** Adds a child to `parent` in the hash table slot that `childOf` found last. Returns its node. */
function addChild(parent: number, kind: number, level: number, hash: number): number {
  const start = starts[level]!;
  const end = ends[level]!;
  const node = insert(parent, kind, start, end, hash);
  nodes[node + NUMERIC] = nodes[parent + NUMERIC]!;
  if (nodes[parent + FIRST] === NONE) nodes[parent + FIRST] = node;
  else nodes[nodes[parent + LAST]! + NEXT] = node;
  nodes[parent + LAST] = node;
  if (nodes[parent + KIND] === ARRAY) {
    filledElements += 1;
    const index = arrayIndex(bytes, start, end);
    if (index >= nodes[parent + LENGTH]!) nodes[parent + LENGTH] = index + 1;
  }
  path[level] = node;
  pathLevels = level + 1;
  return node;
}

/**
 * Reserves the array elements that the parameter read last by `readPair` adds below `node`. `level`
 * is its first component without a node. Returns false and reserves nothing if:
 * - `node` is an array, but this component is no array index;
 * - the event's arrays would exceed `ARRAY_ELEMENTS_MAX` elements in all.
 */
function reserveElements(node: number, level: number): boolean {
  let more = 0;
  if (nodes[node + KIND] === ARRAY) {
    const index = arrayIndex(bytes, starts[level]!, ends[level]!);
    if (index < 0) return false;
    more = Math.max(0, index + 1 - nodes[node + LENGTH]!);
  }
  for (let below = level + 1; below < pair.levels; below++) {
    more += arrayIndex(bytes, starts[below]!, ends[below]!) + 1;
  }
  if (elements + more > ARRAY_ELEMENTS_MAX) return false;
  elements += more;
  return true;
}

/**
 * Returns the child of `parent` with the name between two offsets of the scratch buffer; `hash` is
 * the name's hash. If there is none, returns NONE and sets `freeSlot` to the slot for a new child.
 */
function childOf(parent: number, hash: number, start: number, end: number): number {
  let slot = Math.imul(hash ^ parent, 0x9e3779b1) >>> (32 - SLOT_BITS);
  for (;;) {
    const node = slots[slot]!;
    if (node >= used || nodes[node + SLOT] !== slot) {
      freeSlot = slot;
      return NONE;
    }
    if (
      nodes[node + HASH] === hash &&
      nodes[node + PARENT] === parent &&
      isSame(nodes[node + NAME]!, nodes[node + NAME_END]!, start, end)
    ) {
      return node;
    }
    slot = (slot + 1) & ((1 << SLOT_BITS) - 1);
  }
}

/**
 * Creates a node in the hash table slot `freeSlot`, which the preceding call of `childOf` has set.
 * The caller adds the node to its parent's list of children.
 */
function insert(parent: number, kind: number, start: number, end: number, hash: number): number {
  const node = used;
  used += NODE_FIELDS;
  nodes[node + KIND] = kind;
  nodes[node + NEXT] = NONE;
  nodes[node + NAME] = start;
  nodes[node + NAME_END] = end;
  nodes[node + FIRST] = NONE;
  nodes[node + LENGTH] = 0;
  nodes[node + PARENT] = parent;
  nodes[node + HASH] = hash;
  nodes[node + SLOT] = freeSlot;
  slots[freeSlot] = node;
  return node;
}

function hasNameAt(node: number, level: number): boolean {
  return isSame(nodes[node + NAME]!, nodes[node + NAME_END]!, starts[level]!, ends[level]!);
}

/**
 * Whether the text between two offsets of the scratch buffer is `screen`. In the objects
 * `properties` and `context.screen`, values that look like numbers are written as numbers.
 */
export function isScreen(start: number, end: number): boolean {
  return isSame(SCREEN.start, SCREEN.end, start, end);
}

/**
 * Returns the node of a fixed field, such as `userId`, whose name is the first component of the
 * parameter name read last by `readPair`. Returns NONE if there is no such field.
 */
export function fieldOf(): number {
  const start = starts[0]!;
  const end = ends[0]!;
  return childOf(ROOT, hashOf(start, end), start, end);
}

/** Returns `field` if it is the node of a string field that is not set yet, otherwise NONE. */
export function vacant(field: number): number {
  return nodes[field + KIND] === VACANT ? field : NONE;
}
