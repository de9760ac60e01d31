import { isUtf8 } from "node:buffer";
import { BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, COMMA } from "../../json/bytes.ts";
import {
  firstMember,
  loadText,
  NOT_JSON,
  nextMember,
  OBJECT_END,
  scanned,
  skipValue,
  tokenAt,
} from "../../json/json-scanner.ts";
import { ABSENT, memberNames } from "../../json/member-names.ts";
import { SDK_BATCH_EVENTS_BYTES_MAX, SDK_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import type { Span } from "../text/scratch.ts";
import { clearEvents, eventCount, inherit, scanEvent, singleWriteKey } from "./event-facts.ts";
import { stringAt } from "./id-text.ts";
import { timeAt } from "./iso-time.ts";

export { eventAt, type SdkEventFacts } from "./event-facts.ts";

/** The contents of the body of an SDK request. All offsets are offsets in `bytes`. */
export interface SdkBody {
  /**
   * A copy of the body in well-formed UTF-8: U+FFFD replaces invalid sequences. The next call of
   * `scanBody` overwrites it.
   */
  bytes: Buffer;
  /**
   * Number of events in the body. `eventAt` returns the scan result of the event with a given
   * index, until `scanBody` is called for the next body.
   */
  events: number;
  /** Write key in the batch or the single event; undefined when it is missing or not a string. */
  writeKey: string | undefined;
  /** The member `sentAt` of the batch, in milliseconds since the epoch; undefined if absent. */
  sentAt: number | undefined;
  /** The object `context` of the batch. Events without this member inherit it. */
  context: Span | undefined;
  /** The object `integrations` of the batch. Events without this member inherit it. */
  integrations: Span | undefined;
}

/** Why a body is refused: the status of the response and a sentence for the client. */
export interface BodyProblem {
  status: 400 | 413;
  problem: string;
}

const BATCH_MEMBERS = ["batch", "writeKey", "sentAt", "context", "integrations"];
const BATCH = 0;
const WRITE_KEY = 1;
const SENT_AT = 2;
const CONTEXT = 3;
const INTEGRATIONS = 4;
const batchMember = memberNames(BATCH_MEMBERS);
const starts = new Int32Array(BATCH_MEMBERS.length);
const ends = new Int32Array(BATCH_MEMBERS.length);

const notJson: BodyProblem = { status: 400, problem: "Expected a body that is valid JSON" };
const noBatch: BodyProblem = {
  status: 400,
  problem: 'Expected a JSON object with an array "batch" of events',
};
const tooMany: BodyProblem = {
  status: 413,
  problem: `Expected at most ${SDK_BATCH_EVENTS_MAX} events in a batch`,
};
const tooLarge: BodyProblem = {
  status: 413,
  problem: `Expected events of at most ${SDK_BATCH_EVENTS_BYTES_MAX} bytes in all, with the context of their batch`,
};
/** Returned by `scanBatch` and `scanEvents` for more than `SDK_BATCH_EVENTS_MAX` events. */
const TOO_MANY = -3;

/**
 * Scans the body of an SDK request: one event, or a batch with `isBatch`. Returns a problem if the
 * body is not JSON, lacks the array `batch`, or exceeds a limit, but not for an invalid event (see
 * `eventAt`). Invalid UTF-8 becomes U+FFFD.
 */
export function scanBody(body: Buffer, isBatch: boolean): SdkBody | BodyProblem {
  const utf8 = isUtf8(body) ? body : Buffer.from(body.toString("utf8"));
  const bytes = loadText(utf8);
  clearEvents();
  starts.fill(ABSENT);
  const start = tokenAt(bytes, 0);
  const end = isBatch ? scanBatch(bytes, start) : scanEvent(bytes, start, false);
  if (end === TOO_MANY) return tooMany;
  if (end < 0 || tokenAt(bytes, end) !== utf8.length) return notJson;
  if (isBatch && (starts[BATCH] === ABSENT || bytes[starts[BATCH]!] !== BRACKET_OPEN)) {
    return noBatch;
  }
  const context = objectSpan(bytes, CONTEXT);
  const integrations = objectSpan(bytes, INTEGRATIONS);
  if (inherit(lengthOf(context), lengthOf(integrations)) > SDK_BATCH_EVENTS_BYTES_MAX) {
    return tooLarge;
  }
  return {
    bytes: bytes.subarray(0, utf8.length),
    events: eventCount(),
    writeKey: isBatch
      ? stringAt(bytes, starts[WRITE_KEY]!, ends[WRITE_KEY]!)
      : singleWriteKey(bytes),
    sentAt: timeAt(bytes, starts[SENT_AT]!, ends[SENT_AT]!),
    context,
    integrations,
  };
}

/**
 * Scans the batch that begins at `start`: stores its events in the table, and the offsets of its
 * members. Returns the offset after the batch; a negative number if it is not JSON or has too many
 * events.
 */
function scanBatch(bytes: Buffer, start: number): number {
  if (bytes[start] !== BRACE_OPEN) return skipValue(bytes, start);
  let at = firstMember(bytes, start);
  while (at >= 0) {
    const member = batchMember(bytes);
    const isEvents = member === BATCH && bytes[at] === BRACKET_OPEN;
    // The last of several members `batch` counts, for JSON.parse too.
    if (member === BATCH) clearEvents();
    const valueEnd = isEvents ? scanEvents(bytes, at) : skipValue(bytes, at);
    if (valueEnd < 0) return valueEnd;
    if (member >= 0) {
      starts[member] = at;
      ends[member] = valueEnd;
    }
    at = nextMember(bytes, valueEnd);
  }
  return at === OBJECT_END ? scanned.objectEnd : NOT_JSON;
}

/**
 * Scans the array of events at `start`. Returns the offset after the array. Returns `NOT_JSON` for
 * invalid JSON, and `TOO_MANY` for more than `SDK_BATCH_EVENTS_MAX` events.
 */
function scanEvents(bytes: Buffer, start: number): number {
  let at = tokenAt(bytes, start + 1);
  if (bytes[at] === BRACKET_CLOSE) return at + 1;
  for (;;) {
    if (eventCount() === SDK_BATCH_EVENTS_MAX) return TOO_MANY;
    at = scanEvent(bytes, at, true);
    if (at < 0) return NOT_JSON;
    at = tokenAt(bytes, at);
    if (bytes[at] === BRACKET_CLOSE) return at + 1;
    if (bytes[at] !== COMMA) return NOT_JSON;
    at = tokenAt(bytes, at + 1);
  }
}

function objectSpan(bytes: Buffer, member: number): Span | undefined {
  const start = starts[member]!;
  if (start === ABSENT || bytes[start] !== BRACE_OPEN) return undefined;
  return { start, end: ends[member]! };
}

function lengthOf(span: Span | undefined): number {
  return span === undefined ? 0 : span.end - span.start;
}
