import {
  PIXEL_ARRAY_ELEMENTS_MAX,
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
} from "../../settings/limits.ts";
import { ends, pair, starts } from "../pair.ts";
import { arrayIndex } from "../text/number.ts";
import { bytes } from "../text/scratch.ts";
import { hashOf, isSame, keep } from "../text/span.ts";

/**
 * The event under construction. Names come in any order and JSON is written nested, so the
 * parameters first become a tree of nodes in one preallocated array. A node is an offset in
 * `nodes`; its name and its text are spans of the scratch; its children are a linked list in the
 * order of their arrival, found again through one hash table over (parent, name).
 *
 * The fields that the service knows are in the tree from the start, so a parameter that names one
 * of them loses by the rule for all parameters: the first wins.
 */

/** Fields of a node. */
export const KIND = 0;
/** 1 in the zones of an event where values that look like numbers become numbers. */
export const ZONE = 1;
export const NEXT = 2;
export const NAME = 3;
export const NAME_END = 4;
/** First and last child of a container; start and end of a value. */
export const FIRST = 5;
export const LAST = 6;
/** Length of an array. */
export const LENGTH = 7;
const PARENT = 8;
const HASH = 9;
/** The slot of the hash table that holds the node. */
const SLOT = 10;
const NODE_FIELDS = 11;

/** Kinds of nodes. */
export const OBJECT = 1;
export const ARRAY = 2;
/** A string or a number whose span is JSON text. */
export const STRING = 3;
export const NUMBER = 4;
/** A string of the event that no parameter has set. */
const VACANT = 5;
/** A field of the event that parameters cannot set. */
const OWNED = 6;

/** Offset of the root, which is the child of no node; `NONE` reuses it. */
export const ROOT = 0;
export const NONE = 0;

const FIXED_NODES_MAX = 20;
const NODES_MAX = FIXED_NODES_MAX + PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX;
export const nodes = new Int32Array(NODE_FIELDS * NODES_MAX);

/**
 * An open-addressed table that needs no clearing (Briggs and Torczon's sparse set): a slot counts
 * only if the node in it is in use and names that slot.
 */
const SLOT_BITS = 15;
const slots = new Int32Array(1 << SLOT_BITS);

let used = NODE_FIELDS;
let elements = 0;
let overfull = false;
/** The free slot at which the last search ended. */
let freeSlot = 0;
/** The nodes of the name claimed last: the next name often starts with the same components. */
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
nodes[PROPERTIES + ZONE] = 1;
const SCREEN = keep("screen");
const fixedEnd = used;

/**
 * Makes a field of the event. The field is not in the root's list, since events write their own
 * fields in an order of their own.
 */
function fix(name: string, kind: number): number {
  const { start, end } = keep(name);
  const hash = hashOf(start, end);
  childOf(ROOT, hash, start, end);
  return insert(ROOT, kind, start, end, hash);
}

/** Empties the tree. Only a track event has an `event`. */
export function clearTree(type: "page" | "track"): void {
  used = fixedEnd;
  pathLevels = 0;
  elements = 0;
  overfull = false;
  nodes[ANONYMOUS_ID + KIND] = VACANT;
  nodes[USER_ID + KIND] = VACANT;
  nodes[PAGE_NAME + KIND] = VACANT;
  nodes[EVENT_NAME + KIND] = type === "track" ? VACANT : OWNED;
  nodes[ROOT + FIRST] = NONE;
  nodes[PROPERTIES + FIRST] = NONE;
  nodes[CONTEXT + FIRST] = NONE;
}

/** Whether a name of this query was refused because arrays would have exceeded their limit. */
export function isOverfull(): boolean {
  return overfull;
}

/**
 * The node that takes the value of the name read last; the node is made together with those above
 * it. NONE when the name has a value already, or something else is in its place. The caller sets
 * the node's span and kind.
 */
export function claim(): number {
  const levels = pair.levels;
  let node = ROOT;
  let level = 0;
  while (level < pathLevels && level < levels && isNamed(path[level]!, level)) {
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
 * Adds the components from level `from` on below the node `above`; the first of them has this hash.
 */
function addPath(above: number, from: number, firstHash: number): number {
  const last = pair.levels - 1;
  let node = above;
  let hash = firstHash;
  for (let level = from; level < last; level++) {
    const start = starts[level + 1]!;
    const end = ends[level + 1]!;
    // The next component decides what this one becomes.
    const child = addChild(node, arrayIndex(bytes, start, end) < 0 ? OBJECT : ARRAY, level, hash);
    if (node === CONTEXT && isScreen(starts[level]!, ends[level]!)) nodes[child + ZONE] = 1;
    node = child;
    hash = hashOf(start, end);
    childOf(node, hash, start, end);
  }
  return addChild(node, STRING, last, hash);
}

/** Adds a child at the free slot that `childOf` has just found. */
function addChild(parent: number, kind: number, level: number, hash: number): number {
  const start = starts[level]!;
  const end = ends[level]!;
  const node = insert(parent, kind, start, end, hash);
  nodes[node + ZONE] = nodes[parent + ZONE]!;
  if (nodes[parent + FIRST] === NONE) nodes[parent + FIRST] = node;
  else nodes[nodes[parent + LAST]! + NEXT] = node;
  nodes[parent + LAST] = node;
  if (nodes[parent + KIND] === ARRAY) {
    const index = arrayIndex(bytes, start, end);
    if (index >= nodes[parent + LENGTH]!) nodes[parent + LENGTH] = index + 1;
  }
  path[level] = node;
  pathLevels = level + 1;
  return node;
}

/**
 * Accounts for the elements that the rest of the name, from `level` below `node`, adds to arrays.
 * False when a component is no index of the array above it, or when arrays exceed the limit.
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
  if (elements + more > PIXEL_ARRAY_ELEMENTS_MAX) {
    overfull = true;
    return false;
  }
  elements += more;
  return true;
}

/**
 * The child with this name; NONE when there is none, and then `freeSlot` is its place in the table.
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

/** Makes a node in `freeSlot`, which is in no node's list of children yet. */
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

function isNamed(node: number, level: number): boolean {
  return isSame(nodes[node + NAME]!, nodes[node + NAME_END]!, starts[level]!, ends[level]!);
}

/**
 * Whether a name is `screen`: `context.screen` is the other zone, beside `properties`, where values
 * may become numbers.
 */
export function isScreen(start: number, end: number): boolean {
  return isSame(SCREEN.start, SCREEN.end, start, end);
}

/** The event's own field that the first component of the name read last names, or NONE. */
export function fieldOf(): number {
  const start = starts[0]!;
  const end = ends[0]!;
  return childOf(ROOT, hashOf(start, end), start, end);
}

/** The field if it is a string of the event that no parameter has set yet, else NONE. */
export function vacant(field: number): number {
  return nodes[field + KIND] === VACANT ? field : NONE;
}
