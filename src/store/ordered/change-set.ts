import type { Key } from "lmdb";
import { packr, type RowWrite } from "../row-write.ts";

/** What a node wants to have changed, all or nothing, in the state that it computed it at. */
export interface ChangeSet {
  /** The node, and its own number of the set: how it knows its sets in the log. */
  author: string;
  number: number;
  /** Position of the set that made the state; -1 for the empty one. */
  base: number;
  writes: readonly RowWrite[];
}

/** Of a set that is too long for one entry; the pieces come in order. */
export interface ChangeSetPart {
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
export function decodeEntry(bytes: Uint8Array): ChangeSet | ChangeSetPart | undefined {
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
