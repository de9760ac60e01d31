import { createHash } from "node:crypto";
import type { OutgoingEvent } from "../destination.ts";
import { MESSAGE_ID_BYTES_MAX, TABLE_EVENT_COLUMNS_MAX, TABLE_LEVELS_MAX } from "./limits.ts";
import type { WarehouseNames } from "./warehouse-names.ts";

/** The values of one row of a table. */
export interface EventRow {
  table: string;
  /** Index of the event in its delivery. */
  index: number;
  /** Values by column: non-empty texts, numbers, booleans, arrays, nested objects. */
  cells: Map<string, unknown>;
  /** Values without a column, by the path of their keys. */
  rest: Record<string, unknown>;
}

/** An event that has no row in any table; the message says why. */
export class NoRowError extends Error {
  override readonly name = "NoRowError";
}

type JsonObject = Record<string, unknown>;

/** Table, and the part of the event whose keys become columns, by type of event. */
const types: Record<string, { table: string; part: string }> = {
  track: { table: "tracks", part: "properties" },
  page: { table: "pages", part: "properties" },
  screen: { table: "screens", part: "properties" },
  identify: { table: "identifies", part: "traits" },
  group: { table: "groups", part: "traits" },
  alias: { table: "aliases", part: "traits" },
};

/** Columns of every table that no property fills. */
const fixed: Record<string, (event: JsonObject, outgoing: OutgoingEvent) => unknown> = {
  anonymous_id: (event) => event.anonymousId,
  user_id: (event) => event.userId,
  sent_at: (event) => event.sentAt,
  timestamp: (event) => event.timestamp,
  received_at: (event, { input }) => event.receivedAt ?? new Date(input.receivedAt).toISOString(),
  original_timestamp: (event) => event.originalTimestamp,
  channel: (event) => event.channel,
  context_ip: (event) => within(event.context).ip ?? event.request_ip,
  context_request_ip: (event) => event.request_ip,
  context_passed_ip: (event) => within(event.context).ip,
};
const fixedByType: Record<string, typeof fixed> = {
  track: { event_text: (event) => event.event },
  page: { name: (event) => event.name ?? within(event.properties).name },
  screen: { name: (event) => event.name ?? within(event.properties).name },
  group: { group_id: (event) => event.groupId },
  alias: { previous_id: (event) => event.previousId },
};
const keys = new Set(["id", "event", ...Object.keys(fixed)]);
const sources = new Map(
  Object.keys(types).map((type) => [type, Object.entries({ ...fixed, ...fixedByType[type] })]),
);

/**
 * Makes the rows of an event as in RudderStack's warehouse: one in the table of the event's type and,
 * with `eventTables`, one with the properties in the table of the event's name.
 */
export function rowsOf(
  outgoing: OutgoingEvent,
  index: number,
  names: WarehouseNames,
  eventTables: boolean,
): EventRow[] {
  const event = parsed(outgoing);
  const type = typeof event.type === "string" ? event.type : "";
  const shape = Object.hasOwn(types, type) ? types[type] : undefined;
  if (shape === undefined) {
    throw new NoRowError(`Expected an event of type ${Object.keys(types).join(", ")}`);
  }
  const row = emptyRow(shape.table, index, [["id", messageIdOf(event, outgoing)]]);
  const own = fixedByType[type] ?? {};
  const isKey = (name: string) => keys.has(name) || Object.hasOwn(own, name);
  for (const [column, value] of sources.get(type)!) {
    const cell = value(event, outgoing);
    if (!isBlank(cell) && !isObject(cell)) row.cells.set(column, cell);
  }
  flatten(within(event.context), "context", 1, (path, value) =>
    put(row, names, isKey, path, value),
  );
  const eventName = type === "track" && isText(event.event) ? names.table(event.event) : "";
  if (eventName !== "") row.cells.set("event", eventName);
  const part = within(event[shape.part]);
  const hasOwnTable = eventTables && eventName !== "";
  const target = hasOwnTable ? emptyRow(eventName, index, row.cells) : row;
  flatten(part, "", 0, (path, value) => put(target, names, isKey, path, value));
  return hasOwnTable ? [row, target] : [row];
}

/** Makes the row of mode `raw`: the identity of the event, and the whole event as JSON text. */
export function rawRow(outgoing: OutgoingEvent, index: number, table: string): EventRow {
  const event = parsed(outgoing);
  const row = emptyRow(table, index, [["message_id", messageIdOf(event, outgoing)]]);
  row.cells.set("received_at", fixed.received_at!(event, outgoing));
  for (const key of ["type", "event"]) {
    if (!isBlank(event[key]) && !isObject(event[key])) row.cells.set(key, event[key]);
  }
  row.cells.set("payload", event);
  return row;
}

function emptyRow(table: string, index: number, cells: Iterable<[string, unknown]>): EventRow {
  return { table, index, cells: new Map(cells), rest: Object.create(null) };
}

function put(
  { cells, rest }: EventRow,
  names: WarehouseNames,
  isKey: (name: string) => boolean,
  path: string,
  value: unknown,
): void {
  const name = names.column(path);
  // Different keys may give the same column, such as keys that differ in case: the first key gets
  // it.
  if (name === "" || isKey(name) || cells.has(name)) {
    if (cells.get(name) !== value) rest[path] = value;
  } else if (cells.size >= TABLE_EVENT_COLUMNS_MAX) rest[path] = value;
  else cells.set(name, value);
}

/** Calls `onValue` with each value that becomes a column, and with its keys joined by `_`. */
function flatten(
  input: JsonObject,
  prefix: string,
  level: number,
  onValue: (path: string, value: unknown) => void,
): void {
  for (const key in input) {
    const value = input[key];
    const path = prefix === "" ? key : `${prefix}_${key}`;
    if (isObject(value) && level < TABLE_LEVELS_MAX) flatten(value, path, level + 1, onValue);
    else if (!isBlank(value)) onValue(path, value);
  }
}

function parsed({ bytes }: OutgoingEvent): JsonObject {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // Text that is not JSON is no object either.
  }
  if (!isObject(event)) throw new NoRowError("Expected an event that is a JSON object");
  return event;
}

/** The messageId of an event; a hash if user code removed it, so that each attempt has the same id. */
function messageIdOf({ messageId }: JsonObject, { bytes, input }: OutgoingEvent): string {
  if (isBlank(messageId)) {
    return createHash("sha256").update(input.messageId).update(bytes).digest("hex");
  }
  const id = typeof messageId === "number" ? String(messageId) : messageId;
  if (typeof id !== "string" || Buffer.byteLength(id) > MESSAGE_ID_BYTES_MAX) {
    throw new NoRowError(`Expected a messageId of at most ${MESSAGE_ID_BYTES_MAX} bytes`);
  }
  return id;
}

function within(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Whether a value gets no column, as in RudderStack. */
function isBlank(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
