import { asBuffer, BRACE_CLOSE, BRACE_OPEN, COMMA, QUOTE, writeAscii } from "../../json/bytes.ts";
import { loadText, skipValue } from "../../json/json-scanner.ts";
import type { BuiltEvent } from "../built-event.ts";
import { choiceOf, type DestinationChoice } from "../destination-choice.ts";
import { type EventType, eventTypes } from "../record/event-type.ts";
import type { JsonRecord } from "../record/json-record.ts";
import { rudderId } from "../rudder-id.ts";
import { writeIsoTime } from "../time.ts";
import { uuidText } from "../uuid.ts";
import {
  ANONYMOUS_ID,
  CONTEXT,
  EVENT_NAME,
  FIRST_OWNED,
  INTEGRATIONS,
  MESSAGE_ID,
  members,
  USER_ID,
} from "./event-members.ts";
import { type EventTimes, timesOf } from "./event-times.ts";
import { idHash, idText, isId, stringAt } from "./id-text.ts";
import { withoutLineBreaks } from "./line-breaks.ts";
import { outline, outlineOf } from "./outline.ts";
import { parsedEvent } from "./parsed-event.ts";

/**
 * Builds the event from the JSON that an SDK sent. A refused event only loses its line breaks. In
 * other events:
 * - set: the times, `rudderId`, `request_ip` and `type`
 * - added if missing: `messageId`, `integrations` and `context.ip`
 * - removed: `writeKey`
 */
export function eventOfJson(record: JsonRecord): BuiltEvent {
  const json = withoutLineBreaks(asBuffer(record.json));
  if (json[0] !== BRACE_OPEN || record.refused !== undefined) return eventAsSent(json, record);
  const isOutlined = outlineOf(json);
  if (!isOutlined) members.find(loadText(json), 0);
  const messageId =
    record.messageId === undefined ? textOf(json, MESSAGE_ID) : uuidText(record.messageId);
  const times = timesOf(json, record.receivedAt, record.sentAt);
  const ids = idsOf(json);
  const rudder = rudderId(ids.userId, ids.anonymousId);
  const built = isOutlined
    ? writtenEvent(json, record, times, rudder)
    : parsedEvent(json, record, messageId, rudder, times);
  const choice = choiceIn(json, isOutlined);
  return { ...namesOf(json, record, ids), json: built, messageId, choice };
}

/** Returns a refused record's event. The event's JSON is `json`, which may be any JSON value. */
function eventAsSent(json: Buffer, record: JsonRecord): BuiltEvent {
  const ids = idsOfEvent(json);
  const messageId =
    record.messageId === undefined ? textOf(json, MESSAGE_ID) : uuidText(record.messageId);
  const names = namesOf(json, record, ids);
  return { ...names, json: Uint8Array.from(json), messageId, choice: undefined };
}

/**
 * Returns the hash of the userId in a record's event, or of the anonymousId if the event has no
 * userId; 0 if it has neither.
 */
export function userHashOfJson(record: JsonRecord): number {
  const json = asBuffer(record.json);
  if (json[0] !== BRACE_OPEN) return 0;
  members.find(loadText(json), 0);
  const { starts, ends } = members;
  const id = isId(json, starts[USER_ID]!, ends[USER_ID]!) ? USER_ID : ANONYMOUS_ID;
  return isId(json, starts[id]!, ends[id]!) ? idHash(json, starts[id]!, ends[id]!) : 0;
}

type Ids = Pick<BuiltEvent, "userId" | "anonymousId">;

/**
 * Returns the user ids in an event's JSON. Stores the offsets of the event's members in `members`.
 */
export function idsOfEvent(json: Buffer): Ids {
  members.starts.fill(-1);
  if (json[0] === BRACE_OPEN) members.find(loadText(json), 0);
  return idsOf(json);
}

function idsOf(json: Buffer): Ids {
  const { starts, ends } = members;
  return {
    userId: idText(json, starts[USER_ID]!, ends[USER_ID]!),
    anonymousId: idText(json, starts[ANONYMOUS_ID]!, ends[ANONYMOUS_ID]!),
  };
}

/**
 * Returns the user ids and the name of the event in `json`. The name is empty unless the event's
 * type is `track`.
 */
function namesOf(json: Buffer, { type }: JsonRecord, { userId, anonymousId }: Ids) {
  const user = userId.trim() === "" ? anonymousId : userId;
  const name = type === "track" ? textOf(json, EVENT_NAME) : "";
  const hasTextIds = isTextOrAbsent(json, USER_ID) && isTextOrAbsent(json, ANONYMOUS_ID);
  return { user, userId, anonymousId, hasTextIds, name };
}

function isTextOrAbsent(json: Buffer, member: number): boolean {
  const start = members.starts[member]!;
  return start < 0 || json[start] === QUOTE;
}

/**
 * Returns the content of a member's value if it is a string. Returns the empty string for another
 * value or a missing member.
 */
function textOf(json: Buffer, member: number): string {
  return stringAt(json, members.starts[member]!, members.ends[member]!) ?? "";
}

const ALL = Buffer.from('{"All":true}');

function choiceIn(json: Buffer, isOutlined: boolean): DestinationChoice | undefined {
  const consentStart = isOutlined ? outline.consentStart : members.starts[CONTEXT]!;
  const isAll = members.starts[INTEGRATIONS]! < 0 || spanIs(json, INTEGRATIONS, ALL);
  if (isAll && consentStart < 0) return undefined;
  const integrations = isAll ? undefined : valueAt(json, members.starts[INTEGRATIONS]!);
  const value = consentStart < 0 ? undefined : valueAt(json, consentStart);
  const consent = isOutlined
    ? value
    : (value as Partial<Record<string, unknown>> | null | undefined)?.consentManagement;
  return choiceOf(integrations, consent);
}

function valueAt(json: Buffer, start: number): unknown {
  return JSON.parse(json.toString("utf8", start, skipValue(loadText(json), start)));
}

function spanIs(json: Buffer, member: number, value: Buffer): boolean {
  const start = members.starts[member]!;
  return json.compare(value, 0, value.length, start, members.ends[member]!) === 0;
}

/** Working memory for the JSON of one event; it grows with the largest event. */
let scratch = Buffer.allocUnsafeSlow(64 << 10);
let plainScratch = plainOf(scratch);
/** Upper bound of the number of bytes that the server adds to the JSON of an event. */
const FRAME_BYTES = 1_024;

const fragment = (text: string) => Buffer.from(text);
const HEADS = Object.fromEntries(
  eventTypes.map((type) => [type, fragment(`{"type":"${type}","messageId":`)]),
) as Record<EventType, Buffer>;
const CONTEXT_FIELD = fragment('"context":');
const IP_FIELD = fragment('"ip":"');
const INTEGRATIONS_FIELD = fragment(',"integrations":');
const ORIGINAL_TIMESTAMP_FIELD = fragment(',"originalTimestamp":"');
const SENT_AT_FIELD = fragment('","sentAt":"');
const RECEIVED_AT_FIELD = fragment('","receivedAt":"');
const TIMESTAMP_FIELD = fragment('","timestamp":"');
const RUDDER_ID_FIELD = fragment('","rudderId":"');
const REQUEST_IP_FIELD = fragment('","request_ip":"');

/** Returns the JSON of a record's event, which `outline` describes, in newly allocated memory. */
function writtenEvent(
  json: Buffer,
  record: JsonRecord,
  times: EventTimes,
  rudder: string,
): Uint8Array {
  const bytesMax = json.length + FRAME_BYTES;
  if (scratch.length < bytesMax) {
    scratch = Buffer.allocUnsafeSlow(2 * bytesMax);
    plainScratch = plainOf(scratch);
  }
  let out = put(HEADS[record.type], 0);
  if (record.messageId !== undefined) out = putText(uuidText(record.messageId), out);
  else out = putMember(json, MESSAGE_ID, out);
  scratch[out++] = COMMA;
  out = putOthers(json, out);
  out = putContext(json, record.clientAddress, put(CONTEXT_FIELD, out));
  out = put(INTEGRATIONS_FIELD, out);
  out = isObjectAt(json, INTEGRATIONS) ? putMember(json, INTEGRATIONS, out) : put(ALL, out);
  out = writeIsoTime(times.originalTimestamp, scratch, put(ORIGINAL_TIMESTAMP_FIELD, out));
  out = writeIsoTime(times.sentAt, scratch, put(SENT_AT_FIELD, out));
  out = writeIsoTime(times.receivedAt, scratch, put(RECEIVED_AT_FIELD, out));
  out = writeIsoTime(times.timestamp, scratch, put(TIMESTAMP_FIELD, out));
  out = writeAscii(rudder, scratch, put(RUDDER_ID_FIELD, out));
  if (record.clientAddress !== "") {
    out = writeAscii(record.clientAddress, scratch, put(REQUEST_IP_FIELD, out));
  }
  scratch[out++] = QUOTE;
  scratch[out++] = BRACE_CLOSE;
  return plainScratch.slice(0, out);
}

/**
 * Returns the memory of a Buffer as a `Uint8Array`, whose `slice` returns a copy. A Buffer's
 * `slice` returns a view.
 */
function plainOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/**
 * Copies members of the event from `json` to `scratch` at offset `start`, each followed by a comma.
 * Omits the members that are written separately. Returns the end offset in `scratch`.
 */
function putOthers(json: Buffer, start: number): number {
  let out = start;
  const { names, starts, valueEnds } = outline;
  for (let member = 0; member < outline.members; ) {
    if (names[member]! >= FIRST_OWNED) {
      member++;
      continue;
    }
    const first = member;
    while (member < outline.members && names[member]! < FIRST_OWNED) member++;
    out = copy(json, starts[first]!, valueEnds[member - 1]!, out);
    scratch[out++] = COMMA;
  }
  return out;
}

/**
 * Writes the value of `context` to `scratch` at `start`, with the client's address as `ip` if the
 * SDK sent no `ip`. Returns the end offset in `scratch`.
 */
function putContext(json: Buffer, address: string, start: number): number {
  let out = start;
  if (isObjectAt(json, CONTEXT)) {
    out = putMember(json, CONTEXT, start);
    if (address === "" || outline.hasIp) return out;
    // The address overwrites the closing brace.
    out--;
    if (!isEmptyAt(json, CONTEXT)) scratch[out++] = COMMA;
  } else {
    scratch[out++] = BRACE_OPEN;
    if (address === "") {
      scratch[out] = BRACE_CLOSE;
      return out + 1;
    }
  }
  out = writeAscii(address, scratch, put(IP_FIELD, out));
  scratch[out++] = QUOTE;
  scratch[out] = BRACE_CLOSE;
  return out + 1;
}

function isObjectAt(json: Buffer, member: number): boolean {
  const start = members.starts[member]!;
  return start >= 0 && json[start] === BRACE_OPEN;
}

/** Whether the object that is the value of a member has no members itself. */
function isEmptyAt(json: Buffer, member: number): boolean {
  for (let at = members.starts[member]! + 1; ; at++) {
    if (json[at] === QUOTE) return false;
    if (json[at] === BRACE_CLOSE) return true;
  }
}

function put(bytes: Buffer, out: number): number {
  scratch.set(bytes, out);
  return out + bytes.length;
}

function putMember(json: Buffer, member: number, out: number): number {
  return copy(json, members.starts[member]!, members.ends[member]!, out);
}

function putText(text: string, out: number): number {
  scratch[out] = QUOTE;
  const end = writeAscii(text, scratch, out + 1);
  scratch[end] = QUOTE;
  return end + 1;
}

function copy(json: Buffer, start: number, end: number, out: number): number {
  if (end - start > 48) return out + json.copy(scratch, out, start, end);
  for (let at = start; at < end; at++) scratch[out + at - start] = json[at]!;
  return out + end - start;
}
