import { afterAll, beforeAll, describe, expect, test } from "bun:test";
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
import fc from "fast-check";
import { pino } from "pino";
import { StartError } from "../../src/errors.ts";
import { compactStore } from "../../src/store/lmdb/compact.ts";
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
    await expect(compactStore(copy)).rejects.toThrow(/ to be whole, but page /);
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

describe("a damaged field of a store's file is named", () => {
  const [HEADER, PAGE] = [24, 4_096];
  const path = freshPath();
  let bytes: Buffer;
  beforeAll(async () => {
    const { store, tables } = open(path);
    const [table] = tables;
    // A tree of a branch and some leaves, of which the first has a value of several pages.
    await store.change(() => {
      for (let n = 100; n < 300; n++) table!.put(`${n}`, "x".repeat(100));
    });
    await store.change(() => table!.put("0", "x".repeat(3 * PAGE)));
    await store.close();
    bytes = readFileSync(join(path, "data.mdb"));
  });

  /** Places of the newer meta page: its trees begin behind its header and four other fields. */
  function places() {
    const transaction = (meta: number) => bytes.readBigUInt64LE(meta + HEADER + 128);
    const meta = transaction(PAGE) > transaction(0) ? PAGE : 0;
    const tree = meta + HEADER + 24 + 48;
    const rootPage = Number(bytes.readBigUInt64LE(tree + 40));
    const at = rootPage * PAGE;
    // The first node of the root table is the tree of the first named table.
    const node = at + HEADER + bytes.readUInt16LE(at + HEADER);
    const named = node + 8 + bytes.readUInt16LE(node + 6);
    const branch = Number(bytes.readBigUInt64LE(named + 40));
    const child = branch * PAGE + HEADER + bytes.readUInt16LE(branch * PAGE + HEADER);
    const leaf = bytes.readUInt32LE(child);
    return { meta, tree, rootPage, at, node, named, branch, child, leaf };
  }

  function faultAfter(damage: (changed: Buffer, found: ReturnType<typeof places>) => void) {
    const changed = Buffer.from(bytes);
    damage(changed, places());
    const file = join(root, `damaged-${stores++}`);
    writeFileSync(file, changed);
    return integrityFault(file);
  }
  const big = (value: number) => BigInt(value);

  test("of a meta page and its trees", () => {
    const { meta, tree, named, rootPage } = places();
    const { length } = bytes;
    const lastPage = Number(bytes.readBigUInt64LE(meta + HEADER + 120));
    const entries = Number(bytes.readBigUInt64LE(named + 32));
    expect(faultAfter(() => {})).toBeUndefined();
    expect(faultAfter((it) => it.writeUInt32LE(1, HEADER))).toBe("it does not begin as one");
    expect(faultAfter((it) => it.writeUInt32LE(1, PAGE + HEADER))).toBe("it does not begin as one");
    expect(faultAfter((it) => it.writeUInt32LE(length, HEADER + 24))).toBe("its end is missing");
    expect(faultAfter((it) => it.writeUInt16LE(33, tree + 6))).toBe("a tree is too deep");
    const missing = (page: number) => `page ${page} is missing`;
    expect(faultAfter((it) => it.writeBigUInt64LE(big(lastPage + 1), tree + 40))).toBe(
      missing(lastPage + 1),
    );
    expect(faultAfter((it) => it.writeBigUInt64LE(big(rootPage - 1), meta + HEADER + 120))).toMatch(
      /^page \d+ is missing$/,
    );
    for (const [place, count] of [
      [named, entries],
      [tree, 3],
    ] as const) {
      for (const change of [-1, 1]) {
        expect(faultAfter((it) => it.writeBigUInt64LE(big(count + change), place + 32))).toBe(
          `a tree has ${count} entries instead of ${count + change}`,
        );
      }
    }
    // A tree without entries has no pages to read.
    expect(
      faultAfter((it) => {
        it.writeBigUInt64LE(0n, tree + 32);
        it.writeBigUInt64LE(big(lastPage + 9), tree + 40);
      }),
    ).toBeUndefined();
  });

  test("is a fault or none, and no other error, whatever bytes are damaged", () => {
    const place = fc.oneof(fc.nat({ max: 2 * PAGE }), fc.nat({ max: bytes.length - 1 }));
    const damage = fc.array(fc.tuple(place, fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(damage, (changes) => {
        const fault = faultAfter((it) => {
          for (const [at, byte] of changes) it.writeUInt8(byte, at);
        });
        expect(typeof fault).toBeOneOf(["string", "undefined"]);
      }),
    );
    // The size of a page, which is smaller than its head.
    for (const size of [0, 8, HEADER + 143]) {
      const fault = faultAfter((it) => it.writeUInt32LE(size, HEADER + 24));
      expect(fault).toBe("it does not begin as one");
    }
  });

  test("of a page's head, and of its nodes", () => {
    const { meta, at, rootPage, branch, child, leaf, node } = places();
    const transaction = Number(bytes.readBigUInt64LE(meta + HEADER + 128));
    const none = `page ${rootPage} is no page`;
    const another = (page: number) => `page ${page} is another one`;
    expect(faultAfter((it) => it.writeBigUInt64LE(big(rootPage + 1), at))).toBe(another(rootPage));
    expect(faultAfter((it) => it.writeUInt16LE(1, at + 18))).toBe(another(rootPage));
    expect(faultAfter((it) => it.writeUInt16LE(2, branch * PAGE + 18))).toBe(another(branch));
    expect(faultAfter((it) => it.writeUInt16LE(4, leaf * PAGE + 18))).toBe(another(leaf));
    expect(faultAfter((it) => it.writeBigUInt64LE(big(transaction + 1), leaf * PAGE + 8))).toBe(
      `page ${leaf} was written later than the others`,
    );
    expect(faultAfter((it) => it.writeBigUInt64LE(big(transaction), leaf * PAGE + 8))).toBe(
      undefined,
    );
    expect(faultAfter((it) => it.writeUInt32LE(branch, child))).toBe(another(branch));
    // Numbers of keys, places of nodes and sizes of keys lead out of the page.
    expect(faultAfter((it) => it.writeUInt16LE(PAGE, at + 20))).toBe(none);
    expect(faultAfter((it) => it.writeUInt16LE(PAGE - HEADER - 7, at + HEADER))).toBe(none);
    expect(faultAfter((it) => it.writeUInt16LE(PAGE, node + 6))).toBe(none);
  });

  test("of a large value's pages", () => {
    const { leaf } = places();
    const start = leaf * PAGE;
    const keys = bytes.readUInt16LE(start + 20) >> 1;
    const nodes = Array.from({ length: keys }, (_, key) => {
      const node = start + HEADER + bytes.readUInt16LE(start + HEADER + 2 * key);
      const isLarge = bytes.readUInt16LE(node + 4) === 1;
      return { isLarge, data: node + 8 + bytes.readUInt16LE(node + 6) };
    });
    const { data } = nodes.find(({ isLarge }) => isLarge)!;
    const first = Number(bytes.readBigUInt64LE(data));
    const lastPage = Number(bytes.readBigUInt64LE(places().meta + HEADER + 120));
    for (const count of [0, lastPage + 1]) {
      expect(faultAfter((it) => it.writeBigUInt64LE(big(count), data + 16))).toBe(
        `page ${first} is no page`,
      );
    }
    expect(faultAfter((it) => it.writeBigUInt64LE(big(lastPage), data + 16))).toBe(
      "its end is missing",
    );
    expect(faultAfter((it) => it.writeUInt16LE(2, first * PAGE + 18))).toBe(
      `page ${first} is another one`,
    );
  });

  test("of two trees that share their pages", () => {
    // Each node of the branch leads to the same leaf, again and again.
    const { branch, leaf, meta } = places();
    const start = branch * PAGE;
    const keys = bytes.readUInt16LE(start + 20) >> 1;
    const fault = faultAfter((it) => {
      for (let key = 0; key < keys; key += 1) {
        const node = start + HEADER + it.readUInt16LE(start + HEADER + 2 * key);
        it.writeUInt32LE(leaf, node);
      }
      it.writeBigUInt64LE(BigInt(leaf), meta + HEADER + 120);
    });
    expect(fault).toMatch(/^(its trees share pages|page \d+ is missing)$/);
  });
});
