import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** One write of a change; without a value the key is removed. */
export interface Write {
  table: string;
  key: Key;
  /** As a table stores it: what the writer does with the object later changes nothing. */
  value?: Uint8Array;
}

/** What changes would do. */
export interface Rehearsal {
  outcomes: PromiseSettledResult<unknown>[];
  /** What those that worked wrote, as it is at the end of all. */
  writes: Write[];
}

/** What a node wants to have changed, all or nothing, in the state that it computed it at. */
export interface ChangeSet {
  /** The node, and its own number of the set: how it knows its sets in the log. */
  author: string;
  number: number;
  /** Position of the set that made the state; -1 for the empty one. */
  base: number;
  writes: readonly Write[];
}

/** Of a set that is too long for one entry; the pieces come in order. */
export interface Piece {
  author: string;
  number: number;
  base: number;
  index: number;
  count: number;
  bytes: Uint8Array;
  /** Tables that the set writes to. */
  tables: readonly string[];
}

/**
 * Of the entries and of the rows that they write: raised with every change after which an older
 * pixelmill would misread either. A node stops at the first entry of a higher format.
 */
export const SHARED_FORMAT = 1;

/** Brokers have bounds of their own. */
const ENTRY_BYTES_MAX = 1 << 20;
const PIECE_BYTES = ENTRY_BYTES_MAX - 4_096;

// As the tables of a store encode, see `openEnvironment`.
const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/** A write as it goes to other nodes; a removal comes without a value. */
export function writeOf(table: string, key: Key, value: readonly unknown[]): Write {
  return value.length === 0 ? { table, key } : { table, key, value: encodeValue(value[0]) };
}

/** The last write of each row: counts and the like are written again and again in one change. */
export function lastOfEach(writes: readonly Write[]): Write[] {
  const last = new Map<string, Write>();
  for (const write of writes) last.set(`${write.table} ${JSON.stringify(write.key)}`, write);
  return [...last.values()];
}

/**
 * The form in which nodes exchange change sets, in one entry or in pieces: a list that begins with
 * the format.
 */
export function encodeChangeSet(set: ChangeSet, format = SHARED_FORMAT): Uint8Array[] {
  const { author, number, base, writes } = set;
  const each = writes.map(({ table, key, value }) => (value ? [table, key, value] : [table, key]));
  const bytes = packr.encode([format, author, number, base, each]);
  if (bytes.length <= ENTRY_BYTES_MAX) return [bytes];
  const tables = [...new Set(writes.map(({ table }) => table))];
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const piece = bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES);
    return packr.encode([format, author, number, base, null, index, count, piece, tables]);
  });
}

/** The format of an entry that a newer pixelmill wrote; undefined for all others. */
export function newerFormat(bytes: Uint8Array): number | undefined {
  // In MessagePack a short list is a byte of 0x9., and a small number is a byte.
  const [list = 0, format = 0] = bytes;
  const isNewer = list >> 4 === 0x9 && format > SHARED_FORMAT && format < 0x80;
  return isNewer ? format : undefined;
}

/** Undefined when the bytes are none of ours. */
export function decodeEntry(bytes: Uint8Array): ChangeSet | Piece | undefined {
  try {
    const found = packr.decode(bytes);
    // An entry that begins with its author is of the first format.
    const whole = typeof found[0] === "string" ? [1, ...found] : found;
    const [format, author, number, base, each, ...piece] = whole;
    if (!(format <= SHARED_FORMAT && Number.isSafeInteger(base))) return undefined;
    if (each === null) {
      const [index, count, part, tables] = piece;
      return { author, number, base, index, count, bytes: part, tables };
    }
    const writes = each.map(([table, key, value]: [string, Key, Uint8Array?]) => {
      if (typeof table !== "string") throw new TypeError("A table has a name");
      return value === undefined ? { table, key } : { table, key, value };
    });
    return { author, number, base, writes };
  } catch {
    return undefined;
  }
}
