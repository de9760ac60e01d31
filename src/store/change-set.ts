import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** One write of a change; without a value the key is removed. */
export interface Write {
  table: string;
  key: Key;
  /** As a table stores it: what the writer does with the object later changes nothing. */
  value?: Uint8Array;
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

// As the tables of a store encode, see `openEnvironment`.
const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/** The form in which nodes exchange change sets; a later version may add to it at its end. */
export function encodeChangeSet({ author, number, base, writes }: ChangeSet): Uint8Array {
  const each = writes.map(({ table, key, value }) => (value ? [table, key, value] : [table, key]));
  return packr.encode([author, number, base, each]);
}

/** Undefined when the bytes are none of ours. */
export function decodeChangeSet(bytes: Uint8Array): ChangeSet | undefined {
  try {
    const [author, number, base, each] = packr.decode(bytes);
    const writes = each.map(([table, key, value]: [string, Key, Uint8Array?]) => {
      if (typeof table !== "string") throw new TypeError("A table has a name");
      return value === undefined ? { table, key } : { table, key, value };
    });
    return Number.isSafeInteger(base) ? { author, number, base, writes } : undefined;
  } catch {
    return undefined;
  }
}
