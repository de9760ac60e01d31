import type { Key } from "lmdb";
import { packr, type RowWrite } from "../row-write.ts";

/** Writes that a node proposes; all or none take effect, at the version they were computed at. */
export interface ChangeSet {
  /** The node and its number of the set, by which it finds its sets in the log. */
  author: string;
  number: number;
  /** Version that the writes were computed at: position of the last set; -1 for an empty log. */
  base: number;
  writes: readonly RowWrite[];
}

/** Part of a change set that is too long for one entry; parts are appended in order. */
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
 * Format of the entries and of the rows that they write. It is raised when an older pixelmill would
 * misread either. A node stops at the first entry of a higher format.
 */
export const SHARED_FORMAT = 1;

/** Largest entry; brokers bound the size of a record. */
const ENTRY_BYTES_MAX = 1 << 20;
const PART_BYTES = ENTRY_BYTES_MAX - 4_096;

/**
 * Encodes a change set as one entry, or as several parts. Each entry is a list that begins with the
 * format.
 */
export function encodeChangeSet(set: ChangeSet, format = SHARED_FORMAT): Uint8Array[] {
  const { author, number, base, writes } = set;
  const each = writes.map(({ table, key, value }) => (value ? [table, key, value] : [table, key]));
  const bytes = packr.encode([format, author, number, base, each]);
  if (bytes.length <= ENTRY_BYTES_MAX) return [bytes];
  const tables = [...new Set(writes.map(({ table }) => table))];
  const count = Math.ceil(bytes.length / PART_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const piece = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
    return packr.encode([format, author, number, base, null, index, count, piece, tables]);
  });
}

/** Format of an entry from a newer pixelmill; undefined for all other entries. */
export function newerFormat(bytes: Uint8Array): number | undefined {
  // MessagePack encodes a short list as the byte 0x9. and a small number as one byte.
  const [list = 0, format = 0] = bytes;
  const isNewer = list >> 4 === 0x9 && format > SHARED_FORMAT && format < 0x80;
  return isNewer ? format : undefined;
}

/** Decodes an entry; undefined for bytes of another format. */
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
