import { BACKSLASH, hexDigit, MINUS, QUOTE, SPACE } from "./bytes.ts";
import { emitMembers, emitString, emitValue } from "./emit.ts";
import { textOf } from "./pair.ts";
import type { PixelRecord } from "./record.ts";
import { readQuery } from "./scan.ts";
import { bytes, JSON_START } from "./scratch.ts";
import { writeIsoTime } from "./time.ts";
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
} from "./tree.ts";

/** An event as destinations and user code get it. */
export interface PixelEvent {
  /** The event as JSON, in memory of its own. */
  json: Uint8Array;
  /** Whose event it is: userId, else anonymousId. Events of one user keep their order. */
  user: string;
  /** `event` of a track event, empty for a page. */
  name: string;
}

/** Builds the event of a record (decisions §6). The write key is never part of it. */
export function eventOf(record: PixelRecord): PixelEvent {
  const end = writeEvent(record);
  return {
    json: new Uint8Array(bytes.subarray(JSON_START, end)),
    user: nodeText(isPresent(USER_ID) ? USER_ID : ANONYMOUS_ID),
    name: nodeText(EVENT_NAME),
  };
}

const encoder = new TextEncoder();
const HEADS = {
  page: encoder.encode('{"type":"page","channel":"web","messageId":"'),
  track: encoder.encode('{"type":"track","channel":"web","messageId":"'),
};
const AFTER_MESSAGE_ID = encoder.encode('",');
const ANONYMOUS_ID_FIELD = encoder.encode('"anonymousId":');
const USER_ID_FIELD = encoder.encode('"userId":');
const NAME_FIELD = encoder.encode('"name":');
const UNKNOWN_PAGE = encoder.encode('"Unknown Page"');
const EVENT_FIELD = encoder.encode('"event":');
const PROPERTIES_FIELD = encoder.encode('"properties":');
const CONTEXT_FIELD = encoder.encode(',"context":');
const ORIGINAL_TIMESTAMP_FIELD = encoder.encode(
  ',"integrations":{"All":true},"originalTimestamp":"',
);
const SENT_AT_FIELD = encoder.encode('","sentAt":"');
const RECEIVED_AT_FIELD = encoder.encode('","receivedAt":"');
const REQUEST_IP_FIELD = encoder.encode('","request_ip":"');
const TAIL = encoder.encode('"}');
const COMMA = encoder.encode(",");

/**
 * Writes the record's event as JSON to the scratch, from `JSON_START` on, and returns where it
 * ends. Allocates nothing.
 */
export function writeEvent(record: PixelRecord): number {
  readQuery(record.query, record.type);
  unquoteAnonymousId();

  let out = put(HEADS[record.type], JSON_START);
  out = writeUuid(record.messageId, out);
  out = put(AFTER_MESSAGE_ID, out);
  if (isPresent(ANONYMOUS_ID)) out = putMember(ANONYMOUS_ID_FIELD, ANONYMOUS_ID, out);
  if (isPresent(USER_ID)) out = putMember(USER_ID_FIELD, USER_ID, out);
  if (nodes[PAGE_NAME + KIND] === STRING) {
    if (record.type === "page" && !isPresent(PAGE_NAME)) {
      out = put(COMMA, put(UNKNOWN_PAGE, put(NAME_FIELD, out)));
    } else {
      out = putMember(NAME_FIELD, PAGE_NAME, out);
    }
  }
  if (nodes[EVENT_NAME + KIND] === STRING) out = putMember(EVENT_FIELD, EVENT_NAME, out);
  out = emitMembers(ROOT, out, 0);
  out = emitValue(PROPERTIES, put(PROPERTIES_FIELD, out), 1);
  out = emitValue(CONTEXT, put(CONTEXT_FIELD, out), 1);

  out = put(ORIGINAL_TIMESTAMP_FIELD, out);
  const time = out;
  out = writeIsoTime(record.receivedAt, bytes, out);
  const timeEnd = out;
  out = put(SENT_AT_FIELD, out);
  bytes.copyWithin(out, time, timeEnd);
  out = put(RECEIVED_AT_FIELD, out + timeEnd - time);
  bytes.copyWithin(out, time, timeEnd);
  out += timeEnd - time;
  if (record.clientAddress !== "") {
    out = put(REQUEST_IP_FIELD, out);
    out += bytes.write(record.clientAddress, out, "latin1");
  }
  return put(TAIL, out);
}

function put(fragment: Uint8Array, out: number): number {
  bytes.set(fragment, out);
  return out + fragment.length;
}

function putMember(field: Uint8Array, node: number, out: number): number {
  return put(COMMA, emitString(nodes[node + FIRST]!, nodes[node + LAST]!, put(field, out)));
}

/** AMP's client ids arrive in double quotes; one pair of them is not part of the id. */
function unquoteAnonymousId(): void {
  if (nodes[ANONYMOUS_ID + KIND] !== STRING) return;
  const start = nodes[ANONYMOUS_ID + FIRST]!;
  const end = nodes[ANONYMOUS_ID + LAST]!;
  // As JSON text each quote is two bytes, and `\"` at the end cannot be anything else.
  if (end - start < 4) return;
  if (bytes[start] !== BACKSLASH || bytes[start + 1] !== QUOTE) return;
  if (bytes[end - 2] !== BACKSLASH || bytes[end - 1] !== QUOTE) return;
  nodes[ANONYMOUS_ID + FIRST] = start + 2;
  nodes[ANONYMOUS_ID + LAST] = end - 2;
}

/** Whether a string field was given and is not blank. */
function isPresent(node: number): boolean {
  if (nodes[node + KIND] !== STRING) return false;
  const first = bytes[nodes[node + FIRST]!]!;
  const isEmpty = nodes[node + FIRST] === nodes[node + LAST];
  if (!isEmpty && first > SPACE && first < 0x80 && first !== BACKSLASH) return true;
  return nodeText(node).trim() !== "";
}

function nodeText(node: number): string {
  return nodes[node + KIND] === STRING ? textOf(nodes[node + FIRST]!, nodes[node + LAST]!) : "";
}

/** Writes 16 bytes in the form 8-4-4-4-12. */
function writeUuid(id: Uint8Array, out: number): number {
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) bytes[out++] = MINUS;
    bytes[out++] = hexDigit[id[i]! >> 4]!;
    bytes[out++] = hexDigit[id[i]! & 15]!;
  }
  return out;
}
