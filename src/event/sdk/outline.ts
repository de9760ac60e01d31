import {
  BACKSLASH,
  BRACE_CLOSE,
  BRACE_OPEN,
  BRACKET_CLOSE,
  BRACKET_OPEN,
  COLON,
  COMMA,
  QUOTE,
  SPACE,
} from "../../json/bytes.ts";
import { scanned, stringText } from "../../json/json-scanner.ts";
import { ABSENT, memberNames, OTHER_NAME } from "../../json/member-names.ts";
import { mix } from "../text/scratch.ts";
import { CONTEXT, memberIndexOf, members } from "./event-members.ts";

/**
 * Finds the outline of an event: the offsets at which the members of its JSON object begin and end.
 * One pass over the bytes also checks that no object has two members of one name, of which
 * `JSON.parse` keeps only the last. Allocates no memory, except for names that contain escapes.
 */

const contextIndexOf = memberNames(["ip", "consentManagement"]);

/**
 * Maximum number of members of the event's outermost object. `NAMES_MAX` limits the names in all
 * objects of the event together, `LEVELS_MAX` the nesting levels. `outlineOf` returns false for an
 * event that exceeds one of them.
 */
const MEMBERS_MAX = 4_096;
const SLOT_BITS = 17;
const SHIFT_MAX = 24;
const NAMES_MAX = 1 << (SLOT_BITS - 1);
const LEVELS_MAX = 512;

/**
 * Outline of the event that `outlineOf` was last called with: the offsets of the event's members.
 */
export const outline = {
  /** Number of members of the event. Each member has one entry in each of the arrays below. */
  members: 0,
  /** For each member, the index of its name in the list of `event-members.ts`, or `OTHER_NAME`. */
  names: new Int32Array(MEMBERS_MAX),
  /**
   * Three offsets for each member: `starts` has that of the name's opening quote, `valueStarts`
   * that of the value's first byte, `valueEnds` the one after the value's last byte.
   */
  starts: new Int32Array(MEMBERS_MAX),
  valueStarts: new Int32Array(MEMBERS_MAX),
  valueEnds: new Int32Array(MEMBERS_MAX),
  /**
   * Whether `context` has a member `ip`. Below, `consentStart` is the offset of the value of
   * `context.consentManagement`; -1 if there is none.
   */
  hasIp: false,
  consentStart: -1,
};

/**
 * Hash table of the event's member names. A slot is one name: `slotHashes` has the name's hash,
 * `slotObjects` the number of its object. A slot is free if this number is below `firstObject`.
 */
const slotHashes = new Int32Array(1 << SLOT_BITS);
const slotObjects = new Int32Array(1 << SLOT_BITS);
/**
 * Number of bits by which a hash is shifted right to give the index of its slot. It is larger for a
 * short event, so that the used part of the table fits the processor's caches.
 */
let slotShift = 32 - SLOT_BITS;
let objects = 0;
let firstObject = 0;
let namesSeen = 0;
const SEED = (Math.random() * 0x1_0000_0000) | 0;

/**
 * For each level of nesting, the object or array that is being read: the number of the object, or 0
 * for an array. The objects of all events are numbered in sequence, from 1.
 */
const open = new Int32Array(LEVELS_MAX);

/**
 * Finds the outline of a valid JSON object. Returns false when the caller must use `JSON.parse`
 * instead: an object has a name twice, or there are more members, names or levels than an outline
 * holds.
 */
export function outlineOf(json: Buffer): boolean {
  load(json);
  // A name with its value takes five bytes or more, so at most half of the slots are used. More of
  // the table would be in none of the processor's caches.
  slotShift = Math.min(SHIFT_MAX, Math.max(32 - SLOT_BITS, Math.clz32(json.length >> 1)));
  outline.members = 0;
  members.starts.fill(ABSENT);
  outline.hasIp = false;
  outline.consentStart = -1;
  namesSeen = 0;
  if (objects > 0x7000_0000) {
    objects = 0;
    slotObjects.fill(0);
  }
  firstObject = objects + 1;
  let level = 0;
  let at = 0;
  const end = json.length;
  while (at < end) {
    const byte = bytes[at++]!;
    if (byte === QUOTE) {
      const start = at - 1;
      let hasEscape = false;
      at = plainEnd(at);
      let inside = bytes[at++]!;
      while (inside !== QUOTE) {
        if (inside === BACKSLASH) {
          hasEscape = true;
          at++;
        }
        inside = bytes[at++]!;
        if (at > end) return false;
      }
      if (at > end) return false;
      // Only a name is followed by a colon.
      let next = at;
      while (bytes[next]! <= SPACE) next++;
      if (bytes[next] !== COLON) continue;
      if (!addName(start, at, open[level]!, hasEscape)) return false;
      if (level <= 2) {
        scanned.nameStart = start;
        scanned.nameEnd = at;
        scanned.isEscaped = hasEscape;
        do next++;
        while (bytes[next]! <= SPACE);
        if (level === 1 && !addMember(start, next)) return false;
        if (level === 2 && outline.names[outline.members - 1] === CONTEXT) noteContext(next);
        at = next;
      } else at = next + 1;
    } else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) {
      if (++level >= LEVELS_MAX) return false;
      open[level] = byte === BRACE_OPEN ? ++objects : 0;
    } else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
      if (level === 1) endMember(at - 1);
      level--;
    } else if (byte === COMMA && level === 1) endMember(at - 1);
  }
  for (let member = 0; member < outline.members; member++) trimValue(member);
  return true;
}

/**
 * Buffer for a copy of the JSON of one event, reused for the next event. Zero bytes follow the
 * JSON, so that four bytes can be read from any offset in it.
 */
let bytes = Buffer.alloc(64 << 10);
let words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function load(json: Buffer): void {
  if (bytes.length < json.length + 8) {
    bytes = Buffer.alloc(2 * json.length + 8);
    words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  json.copy(bytes, 0);
  bytes.fill(0, json.length, json.length + 8);
}

const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;

/**
 * Searches for the next quote or backslash, four bytes at a time. Returns its offset, or an offset
 * one to three bytes before it. The caller examines the bytes from there singly.
 */
function plainEnd(start: number): number {
  let at = start;
  for (;;) {
    // A byte of `x` is zero where the text has a quote, a byte of `y` where it has a backslash.
    const word = words.getInt32(at, true);
    const x = word ^ QUOTES;
    const y = word ^ BACKSLASHES;
    if ((((((x - ONES) | 0) & ~x) | (((y - ONES) | 0) & ~y)) & HIGH_BITS) !== 0) return at;
    at += 4;
  }
}

/**
 * Adds a member name of the object with the number `object` to the hash table. Returns false when
 * the object already has a name with this hash, or the event has more than `NAMES_MAX` names.
 */
function addName(start: number, end: number, object: number, hasEscape: boolean): boolean {
  if (++namesSeen > NAMES_MAX) return false;
  const hash = hasEscape ? hashOfEscaped(start, end) : hashOf(start + 1, end - 1);
  let slot = mix(hash ^ Math.imul(object, 0x9e3779b1)) >>> slotShift;
  while (slotObjects[slot]! >= firstObject) {
    // Two names with one hash are rare. The event is then read by `JSON.parse` unnecessarily.
    if (slotObjects[slot] === object && slotHashes[slot] === hash) return false;
    slot = (slot + 1) & (-1 >>> slotShift);
  }
  slotObjects[slot] = object;
  slotHashes[slot] = hash;
  return true;
}

/** Hashes the bytes between two offsets, four at a time. */
function hashOf(start: number, end: number): number {
  const length = end - start;
  let hash = SEED ^ length;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash ^ words.getInt32(at, true));
  const rest = end - at;
  return rest === 0 ? hash : mix(hash ^ (words.getInt32(at, true) & ((1 << (rest << 3)) - 1)));
}

function hashOfEscaped(start: number, end: number): number {
  const text = Buffer.from(stringText(bytes, start, end));
  let hash = SEED ^ text.length;
  for (let at = 0; at < text.length; at += 4) {
    let word = 0;
    for (let i = 3; i >= 0; i--) word = (word << 8) | text[at + i]!;
    hash = mix(hash ^ word);
  }
  return hash;
}

function addMember(start: number, valueStart: number): boolean {
  const member = outline.members;
  if (member === MEMBERS_MAX) return false;
  const name = memberIndexOf(bytes);
  outline.members++;
  outline.names[member] = name;
  outline.starts[member] = start;
  outline.valueStarts[member] = valueStart;
  return true;
}

function noteContext(valueStart: number): void {
  const name = contextIndexOf(bytes);
  if (name === 0) outline.hasIp = true;
  else if (name === 1) outline.consentStart = valueStart;
}

/**
 * Stores `at` as the end of the value of the last member in `outline`. The value may then still end
 * in white space, which `trimValue` removes.
 */
function endMember(at: number): void {
  if (outline.members > 0) outline.valueEnds[outline.members - 1] = at;
}

/**
 * Moves the end of a member's value to before the white space that follows the value. If the
 * member's name is in the list of `event-members.ts`, also stores the value's offsets in `members`.
 */
function trimValue(member: number): void {
  let end = outline.valueEnds[member]!;
  while (bytes[end - 1]! <= SPACE) end--;
  outline.valueEnds[member] = end;
  const name = outline.names[member]!;
  if (name === OTHER_NAME) return;
  members.starts[name] = outline.valueStarts[member]!;
  members.ends[name] = end;
}
