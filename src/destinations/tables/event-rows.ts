import { createHash } from "node:crypto";
import type { OutgoingEvent } from "../destination.ts";
import { cleanText } from "./column-values.ts";
import { MESSAGE_ID_BYTES_MAX, TABLE_EVENT_COLUMNS_MAX, TABLE_LEVELS_MAX } from "./limits.ts";
import type { WarehouseNames } from "./warehouse-names.ts";

/** The values of one table row that is made from an event. */
export interface EventRow {
  table: string;
  /** Whether the name of the event chose the table. */
  isNamedByEvent: boolean;
  /** Index of the row's event in its delivery. */
  index: number;
  /**
   * Values by column name. A value is a non-empty text, a number, a boolean, an array or an object.
   */
  cells: Map<string, unknown>;
  /**
   * Values that have no column of their own, by the path of their keys joined by `_`. They are
   * written to the column `rest__json`.
   */
  rest: Record<string, unknown>;
}

/** Thrown when no row can be made from an event. The message says why. */
export class NoRowError extends Error {
  override readonly name = "NoRowError";
}

type JsonObject = Record<string, unknown>;

/** For each type of event: its table, and the part of the event whose keys become columns. */
const types: Record<string, { table: string; part: string }> = {
  track: { table: "tracks", part: "properties" },
  page: { table: "pages", part: "properties" },
  screen: { table: "screens", part: "properties" },
  identify: { table: "identifies", part: "traits" },
  group: { table: "groups", part: "traits" },
  alias: { table: "aliases", part: "traits" },
};

/**
 * Columns that every table has, and functions that compute their values from an event. Properties
 * of an event never fill these columns.
 */
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
 * Makes the rows of an event as RudderStack's warehouse does. The first row is for the table of the
 * event's type. When `mayNameTable` accepts the table of the event's name, a second row holds the
 * properties and is for that table; otherwise the first row holds them.
 */
export function rowsOf(
  outgoing: OutgoingEvent,
  index: number,
  names: WarehouseNames,
  mayNameTable: (table: string) => boolean,
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
  const hasOwnTable = eventName !== "" && mayNameTable(eventName);
  const target = hasOwnTable
    ? { ...emptyRow(eventName, index, row.cells), isNamedByEvent: true }
    : row;
  flatten(part, "", 0, (path, value) => put(target, names, isKey, path, value));
  return hasOwnTable ? [row, target] : [row];
}

/**
 * Makes the row of an event in mode `raw`: the ids of the event, and the whole event as JSON text.
 */
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
  const rest = Object.create(null);
  return { table, isNamedByEvent: false, index, cells: new Map(cells), rest };
}

function put(
  { cells, rest }: EventRow,
  names: WarehouseNames,
  isKey: (name: string) => boolean,
  path: string,
  value: unknown,
): void {
  const name = names.column(path);
  // Different keys may give the same column name, for example keys that differ only in case. Then
  // the first key gets the column.
  if (name === "" || isKey(name) || cells.has(name)) {
    if (cells.get(name) !== value) rest[path] = value;
  } else if (cells.size >= TABLE_EVENT_COLUMNS_MAX) rest[path] = value;
  else cells.set(name, value);
}

/**
 * Calls `onValue` for each value of `input` and its nested objects that becomes a column, with the
 * names of its keys joined by `_`.
 */
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
    // A text that is not valid JSON contains no object.
  }
  if (!isObject(event)) throw new NoRowError("Expected an event that is a JSON object");
  return event;
}

/**
 * Returns the messageId of an event. When user code removed it, returns a hash of the event
 * instead, so that the row has the same id in each attempt. A messageId with characters that cannot
 * be stored (see `cleanText`) gives a hash too: without these characters it could equal the id of
 * another event.
 */
function messageIdOf({ messageId }: JsonObject, { bytes, input }: OutgoingEvent): string {
  if (isBlank(messageId)) {
    return createHash("sha256").update(input.messageId).update(bytes).digest("hex");
  }
  const id = typeof messageId === "number" ? String(messageId) : messageId;
  if (typeof id !== "string" || Buffer.byteLength(id) > MESSAGE_ID_BYTES_MAX) {
    throw new NoRowError(`Expected a messageId of at most ${MESSAGE_ID_BYTES_MAX} bytes`);
  }
  if (cleanText(id) === id) return id;
  // A Buffer of the text would merge lone surrogates, and with them two ids.
  return createHash("sha256").update(JSON.stringify(id)).digest("hex");
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

/** Whether a value gets no column, by RudderStack's rules. */
function isBlank(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
