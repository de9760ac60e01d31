import { expect, test } from "bun:test";
import type { Database } from "lmdb";
import { type Table, tableOf } from "../../src/store/table.ts";

/** A table over rows in memory; `calls` has the calls of LMDB and of `note`. */
function tableWith(
  rows: Map<string, number>,
  note: () => Uint8Array | undefined = () => undefined,
) {
  const calls: unknown[] = [];
  const database = {
    get: (key: string) => rows.get(key),
    resetReadTxn() {
      calls.push("new snapshot");
      rows.set("new", 2);
    },
    doesExist: (key: string) => rows.has(key),
    getRange: ({ limit }: { limit: number }) => [...rows].slice(0, limit),
    getKeys: ({ limit }: { limit: number }) => [...rows.keys()].slice(0, limit),
    getKeysCount: ({ limit }: { limit: number }) => Math.min(rows.size, limit),
    put: (...given: unknown[]) => void calls.push(["put", ...given]),
    remove: (key: string) => void calls.push(["remove", key]),
  } as unknown as Database<number, string>;
  const table: Table<number, string> = tableOf(
    () => database,
    (...given) => {
      calls.push(["note", ...given]);
      return note();
    },
  );
  return { table, calls };
}

test("only a row that the snapshot lacks is read again in a newer one", () => {
  const { table, calls } = tableWith(new Map([["old", 1]]));
  expect(table.getNewest("old")).toBe(1);
  expect(table.get("new")).toBeUndefined();
  expect(calls).toEqual([]);
  expect(table.getNewest("new")).toBe(2);
  expect(table.getNewest("none")).toBeUndefined();
  expect(calls).toEqual(["new snapshot", "new snapshot"]);
});

test("rows, keys and their number are those of LMDB in the range", () => {
  const { table } = tableWith(
    new Map([
      ["a", 1],
      ["b", 2],
    ]),
  );
  const range = { limit: 1 };
  expect([...table.getKeys(range)]).toEqual(["a"]);
  expect(Array.from(table.getRange(range) as Iterable<unknown>)).toEqual([["a", 1]]);
  expect(table.getKeysCount(range)).toBe(1);
  expect(["a", "c"].map((key) => table.doesExist(key))).toEqual([true, false]);
});

test("each write is noted before it, and is refused when its note throws", () => {
  const { table, calls } = tableWith(new Map());
  table.put("a", 1);
  table.remove("a");
  expect(calls).toEqual([
    ["note", "a", 1],
    ["put", "a", 1],
    ["note", "a"],
    ["remove", "a"],
  ]);
  const refusing = tableWith(new Map(), () => {
    throw new Error("refused");
  });
  expect(() => refusing.table.put("a", 1)).toThrow("refused");
  expect(() => refusing.table.remove("a")).toThrow("refused");
  expect(refusing.calls).toEqual([
    ["note", "a", 1],
    ["note", "a"],
  ]);
});

test("bytes that the note returns are stored instead of the value", () => {
  const encoded = Buffer.from("encoded");
  const { table, calls } = tableWith(new Map(), () => encoded);
  table.put("a", 1);
  const [, put] = calls as [unknown, unknown[]];
  expect(put.slice(0, 2)).toEqual(["put", "a"]);
  expect(put[2]).not.toBe(1);
  expect(JSON.stringify(put[2])).toContain(JSON.stringify(encoded));
});
