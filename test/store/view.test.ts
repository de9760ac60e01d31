import { afterAll, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { openView } from "../../src/store/lmdb/view.ts";
import type { Store } from "../../src/store/store.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-view-"));
afterAll(() => rmSync(directory, { recursive: true }));

const lines: string[] = [];
const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
let paths = 0;
const freshPath = () => join(directory, `${paths++}`, "view.mdb");

function open(path: string): Store {
  const view = openView({ path, name: "The view", logger });
  view.table("numbers");
  return view;
}

const keysOf = (view: Store) => [...view.table<number, string>("numbers").getKeys()];

async function written(path: string): Promise<void> {
  const view = open(path);
  await view.change(() => view.table<number, string>("numbers").put("a", 1));
  await view.close();
}

describe("a view", () => {
  test("exists again in the next process", async () => {
    const path = freshPath();
    await written(path);
    const again = open(path);
    expect(keysOf(again)).toEqual(["a"]);
    await again.close();
  });

  test("from before the machine was started is deleted, with a log line", async () => {
    for (const left of ["b9e0c1f4-0000-4000-8000-000000000000", ""]) {
      const path = freshPath();
      await written(path);
      writeFileSync(`${path}-boot`, left);
      const view = open(path);
      expect(keysOf(view)).toEqual([]);
      expect(lines.pop()).toContain("The view is read again after a reboot");
      await view.change(() => view.table<number, string>("numbers").put("b", 1));
      await view.close();
      const again = open(path);
      expect(keysOf(again)).toEqual(["b"]);
      await again.close();
    }
  });

  test("that is no LMDB file, or a truncated one, is deleted", async () => {
    const torn = freshPath();
    await written(torn);
    truncateSync(torn, 8_192);
    rmSync(join(torn, "..", "in-use"));
    const strange = freshPath();
    await written(strange);
    writeFileSync(strange, "x".repeat(20_000));
    rmSync(join(strange, "..", "in-use"));
    for (const path of [torn, strange]) {
      const view = open(path);
      expect(keysOf(view)).toEqual([]);
      expect(lines.pop()).toContain("The view cannot be opened and is read again");
      await view.close();
    }
  });

  test("that another process has open is not deleted", async () => {
    const path = freshPath();
    const first = open(path);
    await first.change(() => first.table<number, string>("numbers").put("a", 1));
    writeFileSync(`${path}-boot`, "another");
    const second = open(path);
    expect(keysOf(second)).toEqual(["a"]);
    expect(readFileSync(`${path}-boot`, "utf8")).not.toBe("another");
    expect(readdirSync(join(path, ".."))).toContain("view.mdb");
    await Promise.all([first.close(), second.close()]);
  });
});
