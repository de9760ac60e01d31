import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { compactStore } from "../../src/store/lmdb/compact.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";

const root = mkdtempSync(join(tmpdir(), "compact-"));
afterAll(() => rmSync(root, { recursive: true }));

const open = (path: string) => {
  const logger = pino({ level: "silent" });
  const store = openStore({ path, name: "The store", logger });
  return { store, rows: store.table<string, string>("rows") };
};

test.each(["directory", "file.mdb"])(
  "a store gives its free space back, keeps what is live, and is written on (%s)",
  async (name) => {
    const path = join(root, `of-${name}`, name);
    const { store, rows } = open(path);
    const keys = Array.from({ length: 2_000 }, (_, i) => `row ${i}`);
    await store.change(() => {
      for (const key of keys) rows.put(key, key.padEnd(1_000, "x"));
    });
    await store.change(() => {
      for (const key of keys.slice(100)) rows.remove(key);
    });
    await expect(compactStore(path)).rejects.toThrow("to be free, but a server or another command");
    expect(rows.get("row 7")?.length).toBe(1_000);
    await store.close();

    const { before, after } = await compactStore(path);
    expect(after).toBeLessThan(before / 5);
    const directory = name === "directory" ? path : join(path, "..");
    expect(readdirSync(directory)).not.toContain("compacted");
    for (let round = 0; round < 2; round++) {
      const again = open(path);
      expect([...again.rows.getRange({})].length).toBe(100 + round);
      expect(again.rows.get("row 7")).toBe("row 7".padEnd(1_000, "x"));
      await again.store.change(() => again.rows.put(`new ${round}`, "y"));
      await again.store.close();
    }
    expect(statSync(name === "directory" ? join(path, "data.mdb") : path).size).toBeLessThan(
      before,
    );
    expect(existsSync(join(directory, "compacted"))).toBe(false);
  },
);

test("space that is freed is used again", async () => {
  const path = join(root, "again");
  const { store, rows } = open(path);
  let size = 0;
  for (let round = 0; round < 30; round++) {
    await store.change(() => {
      for (let i = 0; i < 300; i++) rows.put(`${round} ${i}`, "x".repeat(2_000));
    });
    await store.change(() => {
      for (let i = 0; i < 300; i++) rows.remove(`${round} ${i}`);
    });
    if (round === 9) ({ size } = statSync(join(path, "data.mdb")));
  }
  expect(statSync(join(path, "data.mdb")).size).toBeLessThan(size * 1.5);
  await store.close();
});
