import { BRACE_OPEN, LETTER_N, QUOTE } from "../../json/bytes.ts";
import { scanned, skipValue, stringText } from "../../json/json-scanner.ts";
import { ABSENT, memberSpans } from "../../json/member-names.ts";
import {
  SDK_BATCH_EVENTS_MAX,
  SDK_EVENT_BYTES_MAX,
  SDK_EVENT_LEVELS_MAX,
  SDK_MESSAGE_ID_BYTES_MAX,
} from "../../settings/limits.ts";
import { type EventType, eventTypes } from "../record/event-type.ts";
import { idHash, isId, stringAt } from "./id-text.ts";

/** The result of scanning one event in the body of an SDK request. */
export interface SdkEventFacts {
  /** Offsets in the `bytes` of the body at which the event's JSON starts and ends. */
  start: number;
  end: number;
  /** Why the event is refused, as a sentence; undefined when it is valid. */
  problem: string | undefined;
  /**
   * Whether the event has more nesting levels than allowed. This is also true for a deep array,
   * although `problem` then says that the event is no object.
   */
  isTooDeep: boolean;
  /** The type in the event; undefined when it has none or an unknown one. */
  type: EventType | undefined;
  /** Whether the event has a usable `messageId`: a string of a limited size that is not blank. */
  hasMessageId: boolean;
  /**
   * Whether the event has a member `sentAt` that is not null. `hasContext` and `hasIntegrations`
   * say the same of the members `context` and `integrations`.
   */
  hasSentAt: boolean;
  hasContext: boolean;
  hasIntegrations: boolean;
  /** Hash of the event's user, computed by `userHash`; 0 when the event has no user. */
  user: number;
}

const EVENT_MEMBERS = [
  ...["type", "messageId", "userId", "anonymousId"],
  ...["sentAt", "context", "integrations", "writeKey"],
];
const TYPE = 0;
const MESSAGE_ID = 1;
const USER_ID = 2;
const ANONYMOUS_ID = 3;
const SENT_AT = 4;
const CONTEXT = 5;
const INTEGRATIONS = 6;
const WRITE_KEY = 7;
const members = memberSpans(EVENT_MEMBERS);
const { starts, ends } = members;

/**
 * Reasons why an event is refused. `table` holds an index into this list for each event. Index 0
 * means that the event is valid.
 */
const problems = [
  undefined,
  "Expected the event to be a JSON object",
  `Expected an event with at most ${SDK_EVENT_LEVELS_MAX} levels`,
  `Expected an event of at most ${SDK_EVENT_BYTES_MAX} bytes, with the context of its batch`,
  "Request neither has anonymousId nor userId",
  `Expected an event type, one of ${eventTypes.join(", ")}`,
];
const NOT_OBJECT = 1;
const TOO_DEEP = 2;
const TOO_LARGE = 3;
const NO_ID = 4;
const NO_TYPE = 5;

/**
 * Number of integers that `table` holds for each event of the body scanned last. The constants
 * below are their positions in the event's part of the table.
 */
const FIELDS = 5;
const START = 0;
const END = 1;
const PROBLEM = 2;
const FLAGS = 3;
const USER = 4;
let table = new Int32Array(FIELDS * 128);
let count = 0;

/**
 * Bit mask for the event's type in the integer at position FLAGS: the type's index in `eventTypes`
 * plus 1, or 0 for an unknown type. Each constant below is one further bit of this integer.
 */
const TYPE_BITS = 7;
const HAS_MESSAGE_ID = 8;
const HAS_SENT_AT = 16;
const HAS_CONTEXT = 32;
const HAS_INTEGRATIONS = 64;
const IS_TOO_DEEP = 128;

export function clearEvents(): void {
  count = 0;
  starts.fill(ABSENT);
}

/** Returns the number of events of the body that was scanned last. */
export function eventCount(): number {
  return count;
}

/**
 * Scans the event that begins at `start`, and stores the result in `table`. Returns the offset
 * after the event, even if it is refused; `NOT_JSON` for invalid JSON. With `isInBatch`, the event
 * needs a known type.
 */
export function scanEvent(bytes: Buffer, start: number, isInBatch: boolean): number {
  const isObject = bytes[start] === BRACE_OPEN;
  scanned.levels = 0;
  const end = isObject ? members.find(bytes, start) : skipValue(bytes, start);
  if (end < 0) return end;
  if (FIELDS * (count + 1) > table.length) grow();
  const at = FIELDS * count;
  count++;
  table[at + START] = start;
  table[at + END] = end;
  // The members of an object were searched one by one, so it is one more level.
  const isTooDeep = scanned.levels + (isObject ? 1 : 0) > SDK_EVENT_LEVELS_MAX;
  table[at + FLAGS] = isTooDeep ? IS_TOO_DEEP : 0;
  table[at + USER] = 0;
  table[at + PROBLEM] = isObject ? checkEvent(bytes, at, isInBatch) : NOT_OBJECT;
  return end;
}

/**
 * Checks the event that was scanned last. Stores its flags and user hash in the part of `table`
 * that begins at index `at`. Returns the index of its problem in `problems`, or 0 if it is valid.
 */
function checkEvent(bytes: Buffer, at: number, isInBatch: boolean): number {
  const type = typeIndex(bytes) + 1;
  let flags = type | table[at + FLAGS]!;
  if (hasMessageId(bytes)) flags |= HAS_MESSAGE_ID;
  if (isGiven(bytes, SENT_AT)) flags |= HAS_SENT_AT;
  if (isGiven(bytes, CONTEXT)) flags |= HAS_CONTEXT;
  if (isGiven(bytes, INTEGRATIONS)) flags |= HAS_INTEGRATIONS;
  table[at + FLAGS] = flags;
  if ((flags & IS_TOO_DEEP) !== 0) return TOO_DEEP;
  if (table[at + END]! - table[at + START]! > SDK_EVENT_BYTES_MAX) return TOO_LARGE;
  const id = isId(bytes, starts[USER_ID]!, ends[USER_ID]!) ? USER_ID : ANONYMOUS_ID;
  if (id === ANONYMOUS_ID && !isId(bytes, starts[id]!, ends[id]!)) return NO_ID;
  table[at + USER] = idHash(bytes, starts[id]!, ends[id]!);
  return isInBatch && type === 0 ? NO_TYPE : 0;
}

function grow(): void {
  const larger = new Int32Array(Math.min(2 * table.length, FIELDS * SDK_BATCH_EVENTS_MAX));
  larger.set(table);
  table = larger;
}

function isGiven(bytes: Buffer, member: number): boolean {
  const start = starts[member]!;
  return start !== ABSENT && bytes[start] !== LETTER_N;
}

/** Whether the last scanned event has a usable messageId: a string, not too long, not blank. */
function hasMessageId(bytes: Buffer): boolean {
  const start = starts[MESSAGE_ID]!;
  const end = ends[MESSAGE_ID]!;
  if (start === ABSENT || bytes[start] !== QUOTE) return false;
  return end - start - 2 <= SDK_MESSAGE_ID_BYTES_MAX && isId(bytes, start, end);
}

const typeTexts = eventTypes.map((type) => Buffer.from(`"${type}"`));

/** Returns the scanned event's type as an index of `eventTypes`, ignoring case; -1 if unknown. */
function typeIndex(bytes: Buffer): number {
  const start = starts[TYPE]!;
  if (start === ABSENT || bytes[start] !== QUOTE) return -1;
  for (let index = 0; index < typeTexts.length; index++) {
    if (isAt(typeTexts[index]!, bytes, start)) return index;
  }
  const text = stringText(bytes, start, ends[TYPE]!).trim().toLowerCase();
  return (eventTypes as readonly string[]).indexOf(text);
}

function isAt(text: Buffer, bytes: Buffer, start: number): boolean {
  for (let i = 1; i < text.length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

/**
 * Refuses each event that has more than `SDK_EVENT_BYTES_MAX` bytes together with the members
 * inherited from its batch. The parameters are the sizes of these members. Returns the total bytes
 * of the valid events, with inherited members.
 */
export function inherit(contextBytes: number, integrationsBytes: number): number {
  let total = 0;
  for (let at = 0; at < FIELDS * count; at += FIELDS) {
    const flags = table[at + FLAGS]!;
    let bytes = table[at + END]! - table[at + START]!;
    if (table[at + PROBLEM] === 0) {
      if ((flags & HAS_CONTEXT) === 0) bytes += contextBytes;
      if ((flags & HAS_INTEGRATIONS) === 0) bytes += integrationsBytes;
      if (bytes > SDK_EVENT_BYTES_MAX) table[at + PROBLEM] = TOO_LARGE;
      else total += bytes;
    }
  }
  return total;
}

/**
 * Returns the write key in the single event that was scanned last; undefined when it is missing or
 * no string.
 */
export function singleWriteKey(bytes: Buffer): string | undefined {
  return stringAt(bytes, starts[WRITE_KEY]!, ends[WRITE_KEY]!);
}

/**
 * Object that `eventAt` returns. It has no members until the first call of `eventAt`, which sets
 * all of them.
 */
const facts = {} as SdkEventFacts;

/**
 * Returns the result of scanning one event of the last scanned body. Every call returns the same
 * object, with new values, so that a batch takes no memory per event.
 */
export function eventAt(index: number): Readonly<SdkEventFacts> {
  const at = FIELDS * index;
  const flags = table[at + FLAGS]!;
  facts.start = table[at + START]!;
  facts.end = table[at + END]!;
  facts.problem = problems[table[at + PROBLEM]!];
  facts.type = eventTypes[(flags & TYPE_BITS) - 1];
  facts.isTooDeep = (flags & IS_TOO_DEEP) !== 0;
  facts.hasMessageId = (flags & HAS_MESSAGE_ID) !== 0;
  facts.hasSentAt = (flags & HAS_SENT_AT) !== 0;
  facts.hasContext = (flags & HAS_CONTEXT) !== 0;
  facts.hasIntegrations = (flags & HAS_INTEGRATIONS) !== 0;
  facts.user = table[at + USER]! >>> 0;
  return facts;
}
