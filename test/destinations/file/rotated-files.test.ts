import { afterEach, beforeEach, expect, setSystemTime, spyOn, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKind } from "../../../src/destinations/file/file.ts";
import { JsonLinesFile } from "../../../src/destinations/file/json-lines-file.ts";
import {
  deleteExpiredFiles,
  deletesFiles,
  rotatedPath,
  rotateFile,
  writtenName,
} from "../../../src/destinations/file/rotated-files.ts";
import { outgoing } from "../outgoing.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rotated-"));
});
afterEach(() => {
  setSystemTime();
  rmSync(root, { recursive: true });
});

const { signal } = new AbortController();
const put = (...names: string[]) => {
  for (const name of names) writeFileSync(join(root, name), "");
};
const names = () => readdirSync(root).sort();

test.each([
  ["a/events.jsonl", "a/events-X.jsonl"],
  ["events", "events-X"],
  ["a.b/events", "a.b/events-X"],
  [".hidden", ".hidden-X"],
  ["a/.hidden.x", "a/.hidden-X.x"],
  ["e.tar.gz", "e.tar-X.gz"],
])("a rotated file of %s is %s", (path, rotated) => {
  expect(rotatedPath(path, "X")).toBe(rotated);
});

test("the name of a delivery gets the present time, or the time after the latest file", async () => {
  setSystemTime(new Date("2026-02-16T01:11:11.586Z"));
  const name = "20200101T000000000Z-0-7-abc";
  const written = () => writtenName(root, "e.parquet", name);
  expect(await written()).toBe("20260216T011111586Z-0-7-abc");
  put("e-20260216T011111585Z-0-8-abc.parquet", "f-20990101T000000Z.parquet");
  expect(await written()).toBe("20260216T011111586Z-0-7-abc");
  put("e-20260216T011111999Z.parquet");
  expect(await written()).toBe("20260216T011112000Z-0-7-abc");
  put("e-20260216T011112Z.parquet");
  expect(await written()).toBe("20260216T011113000Z-0-7-abc");
  put("e-20250101T000000Z-0-7-abc.parquet");
  expect(await written()).toBe("20250101T000000Z-0-7-abc");
});

const foreign = [
  ...["e-20209999T999999Z.jsonl", "e-20200101T000000Z.csv", "x-20200101T000000Z.jsonl"],
  ...["e-20200101T000000Z-a b.jsonl", "e-2020.jsonl", "e.jsonl", "e-20200101T000000.jsonl"],
];

test("of rotated files the newest are kept, and those of other programs stay", async () => {
  const all = [
    ...["e-20200101T000000001Z.jsonl", "e-20200101T000000999Z.jsonl", "e-20200101T000000Z.jsonl"],
    ...["e-20200101T000001000Z-0-1-a.jsonl", "e-20191231T235959Z.jsonl"],
  ];
  put(...all, ...foreign);
  await deleteExpiredFiles(root, "e.jsonl", {});
  expect(names()).toEqual([...all, ...foreign].sort());
  await deleteExpiredFiles(root, "e.jsonl", { keepFiles: 3 });
  const kept = ["e-20200101T000000999Z.jsonl", "e-20200101T000000Z.jsonl"];
  expect(names()).toEqual([...kept, "e-20200101T000001000Z-0-1-a.jsonl", ...foreign].sort());
  await deleteExpiredFiles(root, "e.jsonl", { keepFiles: 2 });
  const [, later = ""] = kept;
  expect(names()).toEqual([later, "e-20200101T000001000Z-0-1-a.jsonl", ...foreign].sort());
});

test("a directory of another program in the place of a rotated file keeps no older files alive", async () => {
  put("e-20200103T000000Z.jsonl", "e-20200101T000000Z.jsonl");
  mkdirSync(join(root, "e-20200102T000000Z.jsonl"));
  await deleteExpiredFiles(root, "e.jsonl", { keepFiles: 1 });
  expect(names()).toEqual(["e-20200102T000000Z.jsonl", "e-20200103T000000Z.jsonl"]);
});

test("rotated files are kept up to their age", async () => {
  const now = Date.now();
  const nameAt = (ago: number) =>
    `e-${new Date(now - ago).toISOString().replace(/[-:.]/g, "")}.jsonl`;
  // Other tests set the clock by an hour, which `ageOf` remembers: days are longer.
  const [young, old] = [nameAt(300_000_000), nameAt(400_000_000)];
  put(young, old);
  await deleteExpiredFiles(root, "e.jsonl", { keepAgeMs: 360_000_000 });
  expect(names()).toEqual([young]);
  await deleteExpiredFiles(root, "e.jsonl", { keepAgeMs: 360_000_000, keepFiles: 5 });
  expect(names()).toEqual([young]);
  expect([{}, { keepFiles: 1 }, { keepAgeMs: 1 }].map(deletesFiles)).toEqual([false, true, true]);
});

test("a file of another program whose name has an impossible time stops no rotation", async () => {
  put(...foreign);
  await rotateFile(root, "e.jsonl");
  expect(names()).not.toContain("e.jsonl");
  expect(names()).toHaveLength(foreign.length);
  const name = await writtenName(root, "e.jsonl", "20200101T000000000Z-0-7-abc");
  expect(name).toMatch(/^20\d{6}T\d{9}Z-0-7-abc$/);
});

test("a delivery that is stopped writes nothing", async () => {
  const stopped = AbortSignal.abort(new Error("Stopped"));
  for (const format of ["jsonl", "parquet"] as const) {
    const open = fileKind(root).open({ path: "f", format }, "w");
    expect(await open.deliver([outgoing({})], stopped, "n")).toEqual({
      ...{ kind: "retry", reason: "The delivery was stopped" },
    });
    await open.close();
  }
  expect(names()).toEqual([]);
});

test("destinations with one path share their file, until the last of them is closed", async () => {
  const close = spyOn(JsonLinesFile.prototype, "close");
  try {
    const kind = fileKind(root);
    const [one, other] = [kind.open({ path: "f" }, "w"), kind.open({ path: "f" }, "w")];
    const third = kind.open({ path: "f" }, "another");
    await Promise.all([one, other].map((it, n) => it.deliver([outgoing({ n })], signal)));
    await one.close();
    expect(close).toHaveBeenCalledTimes(0);
    await other.deliver([outgoing({ n: 2 })], signal);
    await other.close();
    expect(close).toHaveBeenCalledTimes(1);
    await other.close();
    expect(close).toHaveBeenCalledTimes(1);
    await third.close();
    expect(close).toHaveBeenCalledTimes(2);
    expect(await Bun.file(join(root, "w/f")).text()).toBe('{"n":0}\n{"n":1}\n{"n":2}\n');
  } finally {
    close.mockRestore();
  }
});

test.each([
  ["a directory", "taken", "EINVAL"],
  ["a file in the place of its directory", "file/f", "ENOTDIR"],
])("a connection test of %s fails, and writes nothing", async (_, path, code) => {
  mkdirSync(join(root, "w", "taken"), { recursive: true });
  writeFileSync(join(root, "w", "file"), "");
  const steps = await fileKind(root).test({ path }, "w", signal);
  expect(steps.map(({ step, ok, message }) => [step, ok, message])).toEqual([
    ["write", false, `The file cannot be written (${code})`],
  ]);
  expect(readdirSync(join(root, "w")).sort()).toEqual(["file", "taken"]);
});
