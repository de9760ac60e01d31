import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { openView } from "../../src/store/lmdb/view.ts";
import { encodeChangeSet } from "../../src/store/ordered/change-set.ts";
import {
  COMPACTION_KEY,
  COMPACTION_TABLE,
  type CompactionProgress,
} from "../../src/store/ordered/compaction-progress.ts";
import { OrderedView } from "../../src/store/ordered/ordered-view.ts";
import { encodeValue, type RowWrite } from "../../src/store/row-write.ts";

const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const directory = mkdtempSync(join(root, "pixelmill-ordered-view-"));
afterAll(() => rmSync(directory, { recursive: true }));

let paths = 0;
function open() {
  const logger = pino({ level: "silent" });
  const path = join(directory, `${paths++}`, "view.mdb");
  const local = openView({ path, name: "The view", logger });
  const isKnown = () => false;
  return { local, view: new OrderedView({ local, name: "test", logger, author: "me", isKnown }) };
}

const entry = (position: number, base: number, ...writes: RowWrite[]) => {
  const [bytes] = encodeChangeSet({ author: "other", number: position, base, writes });
  return { position, bytes: bytes! };
};
const row = (table: string, key: string): RowWrite => ({ table, key, value: encodeValue(1) });
const compaction = (progress: Partial<CompactionProgress>): RowWrite => ({
  ...{ table: COMPACTION_TABLE, key: COMPACTION_KEY },
  value: encodeValue({ id: "c", rows: 0, bytes: 0, isDone: false, ...progress }),
});

test("rows of a table that this node has not opened are stored", async () => {
  const { local, view } = open();
  await view.apply([entry(0, -1, row("unheard-of", "a"))]);
  expect(view.position()).toMatchObject({ next: 1, version: 0 });
  expect([...local.table<number, string>("unheard-of").getRange({})]).toEqual([
    { key: "a", value: 1 },
  ]);
  await local.close();
});

describe("a view whose next entries were deleted", () => {
  const begins = "Expected the log of test to begin with a compaction";

  test.each<[string, RowWrite[]]>([
    ["a change set that belongs to no compaction", [row("numbers", "a")]],
    ["a later step of a compaction", [compaction({ rows: 3, at: { table: "numbers", key: "a" } })]],
    ["the last step of a compaction", [compaction({ rows: 3, isDone: true })]],
  ])("does not begin again at %s", async (_, writes) => {
    const { local, view } = open();
    await expect(view.apply([entry(5, 4, ...writes)])).rejects.toThrow(begins);
    expect(view.position().next).toBe(0);
    await local.close();
  });

  test("does not begin again at an entry that is no change set", async () => {
    const { local, view } = open();
    await expect(view.apply([{ position: 5, bytes: Buffer.from("no") }])).rejects.toThrow(begins);
    await local.close();
  });

  test("begins again at the start of a compaction, and is complete at the end of it", async () => {
    const { local, view } = open();
    const started = await view.apply([entry(5, 4, compaction({}))]);
    expect(started.hasGap).toBe(true);
    expect(view.position()).toMatchObject({ next: 6, version: 5, first: 5, lacks: "c" });
    await view.apply([
      entry(6, 5, row("numbers", "a"), compaction({ rows: 1, at: { table: "numbers", key: "a" } })),
      entry(7, 6, compaction({ rows: 1, isDone: true })),
    ]);
    expect(view.position()).toMatchObject({ next: 8, version: 7, first: 5 });
    expect(view.position().lacks).toBeUndefined();
    expect(local.table("numbers").get("a")).toBe(1);
    await local.close();
  });
});
