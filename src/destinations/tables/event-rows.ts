import { createHash } from "node:crypto";
import { isObject } from "../../is-object.ts";
import { utf8Text } from "../../json/bytes.ts";
import { memberReader } from "../../json/member-reader.ts";
import { parsedJson } from "../../json/parsed-json.ts";
import type { OutgoingEvent } from "../destination.ts";
import { cleanText, JsonText, putRest, type RestValues } from "./column-values.ts";
import { MESSAGE_ID_BYTES_MAX, TABLE_EVENT_COLUMNS_MAX, TABLE_LEVELS_MAX } from "./limits.ts";
import type { KeyPath, WarehouseNames } from "./warehouse-names.ts";

/** One table row that is made from an event. */
export interface EventRow {
  table: string;
  /**
   * Whether the row may be written only to a table that pixelmill or RudderStack created (see
   * `isOwn`). True for a row of the table `users` or of a table named after an event.
   */
  isOwnOnly: boolean;
  /** Index of the event from which the row was made, among the events of the delivery. */
  index: number;
  /**
   * Values by column name, in an object without a prototype. A value is a non-empty text, a number,
   * a boolean, an array, an object or a `JsonText`.
   */
  cells: Record<string, unknown>;
  size: number;
  rest: RestValues;
}

/** Thrown when an event has no row that its table can store. The message says why. */
export class NoRowError extends Error {
  override readonly name = "NoRowError";
}

type JsonObject = Record<string, unknown>;

/**
 * Maximum characters, per byte of an event, in the paths of its values that get no column. An event
 * beyond the limit is refused, because one long key around thousands of values would make gigabytes
 * of paths.
 */
const REST_CHARS_PER_BYTE_MAX = 8;
const longKeys = "Expected shorter keys around values without a column";

/** Name of the table with one row for each user. The row has the user's latest traits. */
export const USERS_TABLE = "users";

type FixedColumns = Record<string, (event: JsonObject, outgoing: OutgoingEvent) => unknown>;

/**
 * Columns that the rows of every event type have. Each has a function that computes its value from
 * the event. The event's properties never fill these columns.
 */
const fixed: FixedColumns = {
  anonymous_id: ({ anonymousId }, { bytes }) => wholeId(anonymousId, bytes, 0),
  user_id: ({ userId }, { bytes }) => wholeId(userId, bytes, 1),
  sent_at: (event) => event.sentAt,
  timestamp: (event) => event.timestamp,
  received_at: (event, { input }) => event.receivedAt ?? new Date(input.receivedAt).toISOString(),
  original_timestamp: (event) => event.originalTimestamp,
  channel: (event) => event.channel,
  context_ip: (event) => within(event.context).ip ?? event.request_ip,
  context_request_ip: (event) => event.request_ip,
  context_passed_ip: (event) => within(event.context).ip,
};
const nameColumn: FixedColumns = { name: (event) => event.name ?? within(event.properties).name };

/** Maps each type of event to the description of its rows. */
const types = new Map([
  ["track", rowShape("tracks", "properties", { event_text: (event) => event.event })],
  ["page", rowShape("pages", "properties", nameColumn)],
  ["screen", rowShape("screens", "properties", nameColumn)],
  ["identify", rowShape("identifies", "traits", {})],
  ["group", rowShape("groups", "traits", { group_id: (event) => event.groupId })],
  ["alias", rowShape("aliases", "traits", { previous_id: (event) => event.previousId })],
]);

/**
 * Describes the rows for a type of event:
 *
 * - `table`: the name of their table
 * - `part`: the member of the event whose keys become columns
 * - `columns`: the fixed columns of all types, and `own`, those of this type
 * - `names`: the columns that an event's properties never fill: `id`, `event` and all fixed columns
 */
function rowShape(table: string, part: string, own: FixedColumns) {
  const columns = Object.entries({ ...fixed, ...own });
  return {
    table,
    part,
    columns,
    names: new Set(["id", "event", ...columns.map(([name]) => name)]),
  };
}

/**
 * Makes the rows of an event as RudderStack's warehouses do. The first row is for the table of the
 * event's type. Two types have a second row, if `mayNameTable` accepts its table:
 *
 * - A track event, for the table with the event's name. Only the second row then contains the
 *   properties.
 * - An identify event with a userId, for the table `users`.
 *
 * Throws `NoRowError` if no row can be made.
 */
export function rowsOf(
  outgoing: OutgoingEvent,
  index: number,
  names: WarehouseNames,
  mayNameTable: (table: string) => boolean,
): EventRow[] {
  const event = parsed(utf8Text(outgoing.bytes));
  const type = typeof event.type === "string" ? event.type : "";
  const shape = types.get(type);
  if (shape === undefined) {
    throw new NoRowError(`Expected an event of type ${[...types.keys()].join(", ")}`);
  }
  const row = emptyRow(shape.table, index);
  set(row, "id", messageIdOf(event, outgoing));
  for (const [column, value] of shape.columns) {
    const cell = value(event, outgoing);
    if (!isBlank(cell) && !isObject(cell)) set(row, column, cell);
  }
  let charsLeft = REST_CHARS_PER_BYTE_MAX * outgoing.bytes.length;
  const putAll = (target: EventRow, part: unknown, root: KeyPath, level: number) =>
    flatten(within(part), names, root, level, (path, cell) => {
      if (put(target, shape.names, names.columnOf(path), cell)) return;
      charsLeft -= path.text.length;
      if (charsLeft < 0) throw new NoRowError(longKeys);
      putRest(target.rest, path.text, cell);
    });
  putAll(row, event.context, names.contextPath, 1);
  const eventName =
    type === "track" && typeof event.event === "string" ? names.table(event.event) : "";
  if (eventName !== "") set(row, "event", eventName);
  const hasOwnTable = eventName !== "" && mayNameTable(eventName);
  const target = hasOwnTable ? emptyRow(eventName, index) : row;
  if (hasOwnTable) {
    target.isOwnOnly = true;
    for (const column in row.cells) set(target, column, row.cells[column]);
  }
  putAll(target, event[shape.part], names.rootPath, 0);
  if (hasOwnTable) return [row, target];
  if (type !== "identify") return [row];
  // RudderStack's web SDKs send traits in the context.
  putAll(row, within(event.context).traits, names.rootPath, 0);
  const user = mayNameTable(USERS_TABLE) ? userRow(row, index) : undefined;
  return user === undefined ? [row] : [row, user];
}

/**
 * Makes the row of the table `users` from a row of the table `identifies`. `index` is the event's
 * index in the delivery. Returns undefined if the event has no userId that can be a key.
 */
function userRow({ cells, rest }: EventRow, index: number): EventRow | undefined {
  const { user_id: userId, received_at: receivedAt } = cells;
  if (userId === undefined || typeof userId === "object") return undefined;
  const id = cleanText(String(userId));
  if (id === "" || Buffer.byteLength(id) > MESSAGE_ID_BYTES_MAX) return undefined;
  const user = emptyRow(USERS_TABLE, index);
  user.isOwnOnly = true;
  for (const column in cells) {
    const isOfEvent = Object.hasOwn(fixed, column) && !column.startsWith("context_");
    if (!isOfEvent) set(user, column, cells[column]);
  }
  set(user, "id", id);
  set(user, "received_at", receivedAt);
  for (const path in rest) user.rest[path] = rest[path];
  return user;
}

/**
 * Makes the row of an event in mode `raw`: the event's messageId, time of receipt, type and name,
 * and its whole JSON, unchanged.
 */
export function rawRow(outgoing: OutgoingEvent, index: number, table: string): EventRow {
  const text = utf8Text(outgoing.bytes);
  const event = parsed(text);
  const row = emptyRow(table, index);
  set(row, "message_id", messageIdOf(event, outgoing));
  set(row, "received_at", fixed.received_at!(event, outgoing));
  for (const key of ["type", "event"]) {
    if (!isBlank(event[key]) && !isObject(event[key])) set(row, key, event[key]);
  }
  set(row, "payload", new JsonText(text));
  return row;
}

function emptyRow(table: string, index: number): EventRow {
  const [cells, rest] = [Object.create(null), Object.create(null)];
  return { table, isOwnOnly: false, index, cells, size: 0, rest };
}

function set(row: EventRow, column: string, value: unknown): void {
  if (row.cells[column] === undefined) row.size += 1;
  row.cells[column] = value;
}

/**
 * Puts a value into a column of a row, unless the column has a value or is in `ownNames` (never
 * filled by properties), or the row has its maximum of columns. Returns whether the column contains
 * `value` afterwards.
 */
function put(
  row: EventRow,
  ownNames: ReadonlySet<string>,
  column: string,
  value: unknown,
): boolean {
  const known = row.cells[column];
  // Different keys may give the same column name, for example keys that differ only in case. Then
  // the first key gets the column.
  if (known !== undefined || column === "" || ownNames.has(column)) return known === value;
  if (row.size >= TABLE_EVENT_COLUMNS_MAX) return false;
  set(row, column, value);
  return true;
}

/**
 * Calls `onValue` with the path and value of each member of `input` and its nested objects, except
 * blank values. An object at level `TABLE_LEVELS_MAX` is one value. `level` is the level of the
 * members of `input`.
 */
function flatten(
  input: JsonObject,
  names: WarehouseNames,
  prefix: KeyPath,
  level: number,
  onValue: (path: KeyPath, value: unknown) => void,
): void {
  for (const key in input) {
    const value = input[key];
    if (isObject(value) && level < TABLE_LEVELS_MAX) {
      flatten(value, names, names.pathBelow(prefix, key), level + 1, onValue);
    } else if (!isBlank(value)) onValue(names.pathBelow(prefix, key), value);
  }
}

function parsed(text: string): JsonObject {
  const event = parsedJson(text);
  if (!isObject(event)) throw new NoRowError("Expected an event that is a JSON object");
  return event;
}

/**
 * Returns the id of an event's row, which is the same in each attempt: the messageId, with two
 * exceptions.
 *
 * - If user code removed the messageId: a hash of the original messageId and the event.
 * - If the messageId has characters that cannot be stored (see `cleanText`): a hash of the
 *   messageId, because without these characters it could equal another.
 *
 * Throws `NoRowError` if the messageId is too long, or neither a string nor a number.
 */
function messageIdOf({ messageId }: JsonObject, { bytes, input }: OutgoingEvent): string {
  if (isBlank(messageId)) {
    return createHash("sha256").update(input.messageId).update(bytes).digest("hex");
  }
  const whole = wholeId(messageId, bytes, 2);
  const id = typeof whole === "number" ? String(whole) : whole;
  if (typeof id !== "string" || Buffer.byteLength(id) > MESSAGE_ID_BYTES_MAX) {
    throw new NoRowError(`Expected a messageId of at most ${MESSAGE_ID_BYTES_MAX} bytes`);
  }
  if (cleanText(id) === id) return id;
  // A Buffer of the text would merge lone surrogates, and with them two ids.
  return createHash("sha256").update(JSON.stringify(id)).digest("hex");
}

const idsIn = memberReader(["anonymousId", "userId", "messageId"]);

/**
 * Returns `id`, or its JSON text if it is a number that parsing may have rounded, because a rounded
 * id may equal another.
 *
 * - `event`: the JSON of the event
 * - `index`: which id it is: the anonymousId (0), the userId (1) or the messageId (2)
 */
function wholeId(id: unknown, event: Uint8Array, index: number): unknown {
  return typeof id === "number" && !Number.isSafeInteger(id) ? idsIn(event)[index] : id;
}

function within(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Whether a value gets no column: null, an empty string, or an empty array or object. */
function isBlank(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
