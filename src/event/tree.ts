import { PIXEL_ARRAY_ELEMENTS_MAX, PIXEL_LEVELS_MAX, PIXEL_PARAMETERS_MAX } from "../limits.ts";
import { writeAscii } from "./bytes.ts";
import { arrayIndex } from "./number.ts";
import { ends, pair, starts } from "./pair.ts";
import { bytes, words } from "./scratch.ts";

/**
 * The event under construction: names come in any order and JSON is written nested, so the
 * parameters first become a tree of nodes in one preallocated array. A node is an offset in
 * `nodes`; its name and its text are spans of the scratch; its children are a linked list in the
 * order of their arrival, found again through one hash table over (parent, name).
 *
 * The fields that the service knows are in the tree from the start, so a parameter that runs
 * into one of them loses by the same rule as any other: the first wins.
 */

/** Fields of a node. */
export const KIND = 0;
/** 1 where values that look like numbers become numbers. */
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
/** The next node in the same bucket. */
const CHAIN = 10;
const NODE_FIELDS = 11;

/** Kinds of nodes. */
export const OBJECT = 1;
export const ARRAY = 2;
export const STRING = 3;
export const NUMBER = 4;
/** A string of the event that no parameter has set. */
const VACANT = 5;
/** A field of the event that parameters cannot set. */
const OWNED = 6;

/** The root is nobody's child, so its offset also says that there is no node. */
export const ROOT = 0;
export const NONE = 0;

const FIXED_NODES_MAX = 20;
export const nodes = new Int32Array(
  NODE_FIELDS * (FIXED_NODES_MAX + PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX),
);
const BUCKET_BITS = 14;
const buckets = new Int32Array(1 << BUCKET_BITS);
/** Differs per process, so that nobody can prepare names that share a bucket. */
const SEED = (Math.random() * 0x1_0000_0000) | 0;

let used = NODE_FIELDS;
let namesEnd = 0;
let elements = 0;
let overfull = false;
nodes[KIND] = OBJECT;

for (const name of ["type", "channel", "messageId", "integrations", "writeKey"]) fix(name, OWNED);
for (const name of ["originalTimestamp", "sentAt", "receivedAt", "request_ip"]) fix(name, OWNED);
export const ANONYMOUS_ID = fix("anonymousId", VACANT);
export const USER_ID = fix("userId", VACANT);
export const PAGE_NAME = fix("name", VACANT);
export const EVENT_NAME = fix("event", VACANT);
export const PROPERTIES = fix("properties", OBJECT);
export const CONTEXT = fix("context", OBJECT);
nodes[PROPERTIES + ZONE] = 1;
const SCREEN = namesEnd;
const SCREEN_END = writeAscii("screen", bytes, SCREEN);
const fixedEnd = used;

function fix(name: string, kind: number): number {
  const start = namesEnd;
  namesEnd = writeAscii(name, bytes, start);
  return insert(ROOT, kind, start, namesEnd, hashOf(start, namesEnd));
}

/** Empties the tree. Only a track event has an `event`. */
export function clearTree(type: "page" | "track"): void {
  // Newest first, so that each bucket is left as it was before.
  while (used > fixedEnd) {
    used -= NODE_FIELDS;
    buckets[bucketOf(nodes[used + PARENT]!, nodes[used + HASH]!)] = nodes[used + CHAIN]!;
  }
  nodes[ANONYMOUS_ID + KIND] = VACANT;
  nodes[USER_ID + KIND] = VACANT;
  nodes[PAGE_NAME + KIND] = VACANT;
  nodes[EVENT_NAME + KIND] = type === "track" ? VACANT : OWNED;
  clearChildren(ROOT);
  clearChildren(PROPERTIES);
  clearChildren(CONTEXT);
  elements = 0;
  overfull = false;
}

/** Whether a name was refused because arrays would have exceeded their limit. */
export function isOverfull(): boolean {
  return overfull;
}

function clearChildren(node: number): void {
  nodes[node + FIRST] = NONE;
  nodes[node + LAST] = NONE;
}

/**
 * The node that takes the value of the name read last, made with what leads to it; NONE when
 * something is there already, or in the way. The caller gives it its span and kind.
 */
export function claim(): number {
  const levels = pair.levels;
  let node = ROOT;
  let level = 0;
  let hash = 0;
  for (; level < levels; level++) {
    hash = hashOf(starts[level]!, ends[level]!);
    const child = childOf(node, hash, starts[level]!, ends[level]!);
    if (child === NONE) break;
    node = child;
  }
  const kind = nodes[node + KIND]!;
  if (level === levels) return kind === VACANT ? node : NONE;
  if (kind !== OBJECT && kind !== ARRAY) return NONE;
  if (!reserveElements(node, level)) return NONE;

  for (; level < levels; level++) {
    const start = starts[level]!;
    const end = ends[level]!;
    const parent = node;
    node = insert(parent, kindAt(level), start, end, hash);
    nodes[node + ZONE] = nodes[parent + ZONE]!;
    append(parent, node);
    if (level + 1 === levels) break;
    if (parent === CONTEXT && isSame(SCREEN, SCREEN_END, start, end)) nodes[node + ZONE] = 1;
    hash = hashOf(starts[level + 1]!, ends[level + 1]!);
  }
  return node;
}

/** What the component at `level` of a new path becomes; the next one decides. */
function kindAt(level: number): number {
  if (level + 1 === pair.levels) return STRING;
  return arrayIndex(bytes, starts[level + 1]!, ends[level + 1]!) >= 0 ? ARRAY : OBJECT;
}

/**
 * Lengthens the arrays that the rest of the name, from `level` below `node`, goes through. False
 * when a component is no index of the array above it, or when arrays would exceed the limit.
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

function childOf(parent: number, hash: number, start: number, end: number): number {
  let node = buckets[bucketOf(parent, hash)]!;
  while (node !== NONE) {
    if (
      nodes[node + HASH] === hash &&
      nodes[node + PARENT] === parent &&
      isSame(nodes[node + NAME]!, nodes[node + NAME_END]!, start, end)
    ) {
      return node;
    }
    node = nodes[node + CHAIN]!;
  }
  return NONE;
}

function insert(parent: number, kind: number, start: number, end: number, hash: number): number {
  const node = used;
  used += NODE_FIELDS;
  const bucket = bucketOf(parent, hash);
  nodes[node + KIND] = kind;
  nodes[node + ZONE] = 0;
  nodes[node + NEXT] = NONE;
  nodes[node + NAME] = start;
  nodes[node + NAME_END] = end;
  nodes[node + FIRST] = NONE;
  nodes[node + LAST] = NONE;
  nodes[node + LENGTH] = 0;
  nodes[node + PARENT] = parent;
  nodes[node + HASH] = hash;
  nodes[node + CHAIN] = buckets[bucket]!;
  buckets[bucket] = node;
  return node;
}

function append(parent: number, node: number): void {
  const last = nodes[parent + LAST]!;
  if (last === NONE) nodes[parent + FIRST] = node;
  else nodes[last + NEXT] = node;
  nodes[parent + LAST] = node;
  if (nodes[parent + KIND] === ARRAY) {
    const index = arrayIndex(bytes, nodes[node + NAME]!, nodes[node + NAME_END]!);
    if (index >= nodes[parent + LENGTH]!) nodes[parent + LENGTH] = index + 1;
  }
}

function bucketOf(parent: number, hash: number): number {
  return Math.imul(hash ^ parent, 0x9e3779b1) >>> (32 - BUCKET_BITS);
}

function hashOf(start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash ^ words.getInt32(at, true));
  if (at < end) {
    hash = mix(hash ^ (words.getInt32(at, true) & ((1 << ((end - at) << 3)) - 1)));
  }
  return hash;
}

function mix(hash: number): number {
  const product = Math.imul(hash, 0x85ebca6b);
  return product ^ (product >>> 15);
}

function isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let i = 0; start + i < end; i++) {
    if (bytes[start + i] !== bytes[otherStart + i]) return false;
  }
  return true;
}
