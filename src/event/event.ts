import {
  BACKSLASH,
  BRACE_CLOSE,
  BRACE_OPEN,
  COMMA,
  QUOTE,
  SPACE,
  utf8Text,
  writeAscii,
} from "../json/bytes.ts";
import type { BuiltEvent } from "./built-event.ts";
import { choiceOf } from "./destination-choice.ts";
import { emitMembers, emitValue } from "./json/emit.ts";
import { IN_CONTEXT, IN_PROPERTIES, OTHERS, sectionEnds, sectionStart } from "./json/stream.ts";
import {
  ANONYMOUS_ID,
  CONTEXT,
  EVENT_NAME,
  FIRST,
  KIND,
  LAST,
  nodes,
  PAGE_NAME,
  PROPERTIES,
  ROOT,
  STRING,
  USER_ID,
} from "./json/tree.ts";
import { writeString } from "./json/value.ts";
import { textOf } from "./pair.ts";
import { EncodedPixelRecord, MESSAGE_ID_AT } from "./record/pixel-record.ts";
import type { EventRecord, PixelRecord } from "./record.ts";
import { readQuery, streamQuery } from "./scan.ts";
import { eventOfJson } from "./sdk/event.ts";
import { bytes, copyOf, copySpan, JSON_START, keep, type Span, words } from "./text/scratch.ts";
import { writeIsoTime } from "./time.ts";
import { uuidText, writeUuid } from "./uuid.ts";

/**
 * Builds the event from a record of the event log, without the write key. A refused event keeps the
 * JSON that the client sent.
 */
export function eventOf(record: EventRecord): BuiltEvent {
  return record.format === "json" ? eventOfJson(record) : eventOfPixel(record);
}

function eventOfPixel(record: PixelRecord): BuiltEvent {
  const end = writeEvent(record);
  const userId = nodeText(USER_ID);
  const anonymousId = nodeText(ANONYMOUS_ID);
  const json = copyOf(JSON_START, end);
  const name = nodeText(EVENT_NAME);
  const user = isBlank(USER_ID) ? anonymousId : userId;
  const event: BuiltEvent = { json, user, userId, anonymousId, hasTextIds: true, name };
  if (namesConsent(record)) event.choice = choiceOf(undefined, consentOf(json));
  return event;
}

const CONSENT = "consentManagement";
const consentBytes = Buffer.from(CONSENT);
const { includes } = Buffer.prototype;

function namesConsent(record: PixelRecord): boolean {
  if (record instanceof EncodedPixelRecord) return includes.call(record.bytes, consentBytes);
  return record.query.includes(CONSENT);
}

/** Returns the member `context.consentManagement` of an event. */
function consentOf(json: Uint8Array): unknown {
  return JSON.parse(utf8Text(json)).context.consentManagement;
}

const HEADS = {
  page: keep('{"type":"page","channel":"web","messageId":"'),
  track: keep('{"type":"track","channel":"web","messageId":"'),
};
const AFTER_MESSAGE_ID = keep('",');
const ANONYMOUS_ID_FIELD = keep('"anonymousId":');
const USER_ID_FIELD = keep('"userId":');
const NAME_FIELD = keep('"name":');
const UNKNOWN_PAGE = keep('"name":"Unknown Page",');
const EVENT_FIELD = keep('"event":');
const PROPERTIES_FIELD = keep('"properties":');
const CONTEXT_FIELD = keep(',"context":');
const TIME = " ".repeat("2026-11-20T07:31:05.123Z".length);
const TIMES_TEXT =
  ',"integrations":{"All":true}' +
  `,"originalTimestamp":"${TIME}","sentAt":"${TIME}","receivedAt":"${TIME}"`;
const TIMES = keep(TIMES_TEXT);
const timePlaces = [...TIMES_TEXT.matchAll(new RegExp(TIME, "g"))].map(
  ({ index }) => TIMES.start + index,
);
const REQUEST_IP_FIELD = keep(',"request_ip":"');

/**
 * Writes the event of a record as JSON to the scratch buffer (preallocated working memory), from
 * `JSON_START` on. Returns the offset after the JSON. Allocates no memory.
 */
export function writeEvent(record: PixelRecord): number {
  const encoded = record instanceof EncodedPixelRecord ? record : undefined;
  const query = encoded ?? record.query;
  const isStreamed = streamQuery(query, record.type);
  if (!isStreamed) readQuery(query, record.type);
  unquoteAnonymousId();

  let out = put(record.type === "page" ? HEADS.page : HEADS.track, JSON_START);
  if (encoded === undefined) out = writeUuid(record.messageId, 0, words, out);
  else out = writeUuid(encoded.bytes, MESSAGE_ID_AT, words, out);
  out = put(AFTER_MESSAGE_ID, out);
  if (isGiven(ANONYMOUS_ID)) out = putMember(ANONYMOUS_ID_FIELD, ANONYMOUS_ID, out);
  if (isGiven(USER_ID)) out = putMember(USER_ID_FIELD, USER_ID, out);
  if (isGiven(PAGE_NAME)) {
    if (record.type === "page" && isBlank(PAGE_NAME)) out = put(UNKNOWN_PAGE, out);
    else out = putMember(NAME_FIELD, PAGE_NAME, out);
  }
  if (isGiven(EVENT_NAME)) out = putMember(EVENT_FIELD, EVENT_NAME, out);
  out = isStreamed ? putSection(OTHERS, out) : emitMembers(ROOT, out, 0);
  out = put(PROPERTIES_FIELD, out);
  out = isStreamed ? putObject(IN_PROPERTIES, out) : emitValue(PROPERTIES, out, 1);
  out = put(CONTEXT_FIELD, out);
  out = isStreamed ? putObject(IN_CONTEXT, out) : emitValue(CONTEXT, out, 1);

  setTimes(record.receivedAt);
  out = put(TIMES, out);
  const address = encoded === undefined ? record.clientAddress : "";
  if (address !== "") {
    out = writeAscii(address, bytes, put(REQUEST_IP_FIELD, out));
    bytes[out++] = QUOTE;
  } else if (encoded !== undefined && encoded.start > encoded.addressStart) {
    out = put(REQUEST_IP_FIELD, out);
    for (let at = encoded.addressStart; at < encoded.start; at++) bytes[out++] = encoded.bytes[at]!;
    bytes[out++] = QUOTE;
  }
  bytes[out] = BRACE_CLOSE;
  return out + 1;
}

/**
 * Time in the JSON template `TIMES`, in milliseconds since the epoch. In a busy log, consecutive
 * events often have the same time, so the template need not be written again.
 */
let timesSet = Number.NaN;

function setTimes(time: number): void {
  if (time === timesSet) return;
  for (const place of timePlaces) writeIsoTime(time, bytes, place);
  timesSet = time;
}

function put(fragment: Span, out: number): number {
  return copySpan(fragment.start, fragment.end, out);
}

function putSection(section: number, out: number): number {
  return copySpan(sectionStart(section), sectionEnds[section]!, out);
}

function putObject(section: number, out: number): number {
  bytes[out] = BRACE_OPEN;
  const end = putSection(section, out + 1);
  // Each member ends with a comma; the closing brace overwrites the last one.
  const close = end === out + 1 ? end : end - 1;
  bytes[close] = BRACE_CLOSE;
  return close + 1;
}

function putMember(field: Span, node: number, out: number): number {
  const end = writeString(nodes[node + FIRST]!, nodes[node + LAST]!, put(field, out));
  bytes[end] = COMMA;
  return end + 1;
}

/**
 * Removes one pair of double quotes around an anonymousId. AMP sends client ids in quotes that do
 * not belong to the id.
 */
function unquoteAnonymousId(): void {
  if (!isGiven(ANONYMOUS_ID)) return;
  const start = nodes[ANONYMOUS_ID + FIRST]!;
  const end = nodes[ANONYMOUS_ID + LAST]!;
  // In JSON text, a quote is the two bytes `\"`. At the end of the text, these two bytes are always
  // an escaped quote.
  if (end - start < 4) return;
  if (bytes[start] !== BACKSLASH || bytes[start + 1] !== QUOTE) return;
  if (bytes[end - 2] !== BACKSLASH || bytes[end - 1] !== QUOTE) return;
  nodes[ANONYMOUS_ID + FIRST] = start + 2;
  nodes[ANONYMOUS_ID + LAST] = end - 2;
}

function isGiven(node: number): boolean {
  return nodes[node + KIND] === STRING;
}

/**
 * Whether a string field of the event is absent or contains only white space. `node` is the offset
 * of the field's node in `nodes`, the tree of the event's fields.
 */
function isBlank(node: number): boolean {
  const first = bytes[nodes[node + FIRST]!]!;
  const isPrintable = first > SPACE && first < 0x80 && first !== BACKSLASH;
  if (isGiven(node) && isPrintable && nodes[node + FIRST] !== nodes[node + LAST]) return false;
  return nodeText(node).trim() === "";
}

/** Returns the string value of the event's field whose node is `node`; empty if it is absent. */
function nodeText(node: number): string {
  return isGiven(node) ? textOf(nodes[node + FIRST]!, nodes[node + LAST]!) : "";
}

/**
 * Returns the event's messageId: the one that the SDK sent or, if it sent none, the one in the
 * record, which the server made.
 */
export function messageIdOf({ messageId }: EventRecord, event: BuiltEvent): string {
  return messageId === undefined ? (event.messageId ?? "") : uuidText(messageId);
}
