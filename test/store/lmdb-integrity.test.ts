import { afterAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { StartError } from "../../src/errors.ts";
import { integrityFault } from "../../src/store/lmdb/lmdb-integrity.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";

const root = mkdtempSync(join(tmpdir(), "whole-"));
afterAll(() => rmSync(root, { recursive: true }));

let stores = 0;
const freshPath = () => join(root, String(stores++));

function open(path: string) {
  const logger = pino({ level: "silent" });
  const store = openStore({ path, name: "The store", logger });
  const tables = ["a", "b", "c"].map((name) => store.table<string, string>(name));
  return { store, tables };
}

type Opened = ReturnType<typeof open>;

/** Rows of all sizes up to several pages, some of which go again. */
async function fill({ store, tables }: Opened, round: number): Promise<void> {
  await store.change(() => {
    for (const [t, table] of tables.entries()) {
      for (let i = 0; i < 300; i++)
        table.put(`${round} ${i}`, "x".repeat((i * 37 * (t + 1)) % 30_000));
    }
  });
  await store.change(() => {
    for (const table of tables) {
      for (let i = 0; i < 300; i += 3) table.remove(`${round} ${i}`);
      if (round > 0) for (let i = 1; i < 300; i += 2) table.remove(`${round - 1} ${i}`);
    }
  });
}

const copyOf = (path: string) => {
  const copy = freshPath();
  mkdirSync(copy);
  return { copy, file: join(copy, "data.mdb"), original: join(path, "data.mdb") };
};

describe("a store's file", () => {
  test("is valid after every change, and so is a copy made while no process writes", async () => {
    const path = freshPath();
    const opened = open(path);
    expect(integrityFault(join(path, "data.mdb"))).toBeUndefined();
    for (let round = 0; round < 5; round++) {
      await fill(opened, round);
      expect(integrityFault(join(path, "data.mdb"))).toBeUndefined();
    }
    await opened.store.close();
    const { copy, file, original } = copyOf(path);
    copyFileSync(original, file);
    const again = open(copy);
    expect([...again.tables[1]!.getKeys({})].length).toBeGreaterThan(200);
    await again.store.close();
  });

  test("that was copied in parts during writes is rejected with a message", async () => {
    const path = freshPath();
    const opened = open(path);
    await fill(opened, 0);
    await fill(opened, 1);
    const { copy, file, original } = copyOf(path);
    const half = readFileSync(original).length >> 1;
    const first = readFileSync(original).subarray(0, half);
    for (let round = 2; round < 6; round++) await fill(opened, round);
    writeFileSync(file, Buffer.concat([first, readFileSync(original).subarray(half)]));
    expect(integrityFault(file)).toMatch(/^page \d+ (was written later than the others|is )/);
    expect(() => open(copy)).toThrow(StartError);
    expect(() => open(copy)).toThrow(
      /^Expected .+data\.mdb to be whole, but page .+pixelmill backup/,
    );
    await opened.store.close();
  });

  test.each(["cut", "of zeros", "of something else"])("that is %s is refused", async (what) => {
    const path = freshPath();
    const opened = open(path);
    await fill(opened, 0);
    await opened.store.close();
    const { copy, file, original } = copyOf(path);
    copyFileSync(original, file);
    const { length } = readFileSync(file);
    if (what === "cut") truncateSync(file, length - 5 * 4_096);
    if (what === "of zeros") writeFileSync(file, Buffer.alloc(length));
    if (what === "of something else") writeFileSync(file, Buffer.alloc(length, "text "));
    expect(() => open(copy)).toThrow(/^Expected .+ to be whole, but /);
  });

  test("that became shorter since it was open is refused", async () => {
    const path = freshPath();
    const opened = open(path);
    await fill(opened, 0);
    await opened.store.close();
    const again = open(path);
    await again.store.close();
    const file = join(path, "data.mdb");
    truncateSync(file, readFileSync(file).length - 5 * 4_096);
    expect(() => open(path)).toThrow(/^Expected .+ to be whole, but its end is missing/);
  });

  test("is refused when a page inside a large value was written later by another value", async () => {
    const path = freshPath();
    const opened = open(path);
    await opened.store.change(() => void opened.tables[0]!.put("a", "x".repeat(30_000)));
    await opened.store.close();
    const file = join(path, "data.mdb");
    const bytes = readFileSync(file);
    const first = bytes.indexOf("xxxx") >> 12;
    const [transaction] = [bytes.readUInt32LE(first * 4_096 + 8)];
    /** Writes a head into the value's second page, as if a later transaction had reused it. */
    const fault = (kind: number, later: number, number = first + 1) => {
      const changed = Buffer.from(bytes);
      const at = (first + 1) * 4_096;
      changed.writeBigUInt64LE(BigInt(number), at);
      changed.writeBigUInt64LE(BigInt(transaction + later), at + 8);
      changed.writeUInt16LE(kind, at + 18);
      writeFileSync(file, changed);
      return integrityFault(file);
    };
    expect(fault(2, 100)).toBe(`page ${first + 1} was written later than the others`);
    expect(fault(0, 100)).toBeUndefined();
    expect(fault(2, 0)).toBeUndefined();
    expect(fault(2, 2 ** 32)).toBeUndefined();
    expect(fault(2, 100, first + 2)).toBeUndefined();
  });

  test("that was checked before is not read completely again", async () => {
    const path = freshPath();
    const opened = open(path);
    await fill(opened, 0);
    await opened.store.close();
    const file = join(path, "data.mdb");
    const bytes = readFileSync(file);
    // Zeros in its middle would be found: this file is the one that was opened here before.
    writeFileSync(file, bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 40_960), {
      flag: "r+",
    });
    expect(integrityFault(file)).toBeDefined();
    const again = open(path);
    await again.store.close();
  });
});
