import type { Key } from "lmdb";
import { packr, type RowWrite } from "../row-write.ts";
import type { LogEntry } from "./ordered-log.ts";

/**
 * Set of row writes that a node proposes by appending it to the shared log. All nodes apply the
 * writes if no other change set has taken effect since version `base` of the store; otherwise no
 * node does.
 */
export interface ChangeSet {
  /** Id of the store object that proposed the change set. Each open store has its own id. */
  author: string;
  /** Number of the change set. Each store object (`author`) numbers its own change sets. */
  number: number;
  /**
   * Version of the store for which the writes were computed: the log position of the last change
   * set that had taken effect by then, or -1 if there was none.
   */
  base: number;
  writes: readonly RowWrite[];
}

/** One part of a change set that is too large for a single log entry. */
export interface ChangeSetPart extends Omit<ChangeSet, "writes"> {
  index: number;
  count: number;
  bytes: Uint8Array;
  /** Names of the tables that the change set writes to, in all its parts together. */
  tables: readonly string[];
}

/**
 * Version of the format of log entries and stored rows. It increases with a change that older
 * releases would misread. A node stops reading the log at an entry with a higher version than its
 * own.
 */
export const SHARED_FORMAT = 1;

/** Largest size of a log entry in bytes. Brokers limit the size of a record. */
const ENTRY_BYTES_MAX = 1 << 20;
const PART_BYTES = ENTRY_BYTES_MAX - 4_096;

/**
 * Encodes a change set as one log entry, or as several when it exceeds `ENTRY_BYTES_MAX`. Each
 * entry is a MessagePack list whose first item is the format.
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

export const entriesLength = (entries: readonly Uint8Array[]) =>
  entries.reduce((sum, { length }) => sum + length, 0);

/**
 * Returns the format version of a log entry if it is higher than `SHARED_FORMAT`, so that this
 * release cannot read the entry. Returns undefined for every other entry.
 */
export function newerFormat(bytes: Uint8Array): number | undefined {
  // MessagePack encodes a short list as the byte 0x9. and a small number as one byte.
  const [list = 0, format = 0] = bytes;
  const isNewer = list >> 4 === 0x9 && format > SHARED_FORMAT && format < 0x80;
  return isNewer ? format : undefined;
}

/** Returns a sentence that says why the store `name` cannot read an entry of a newer format. */
export function newerRefusal(name: string, { position, bytes }: LogEntry): string {
  const expected = `expected entries of format ${SHARED_FORMAT} at most`;
  const got = `got format ${newerFormat(bytes)} at ${position}`;
  return `${name}'s log: ${expected}, ${got}: a newer pixelmill wrote it`;
}

/**
 * Decodes a log entry. Returns undefined when the bytes are neither a change set nor a part of one.
 */
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
