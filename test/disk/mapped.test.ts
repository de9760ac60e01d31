import { afterAll, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeMappable } from "../../src/disk/mapped.ts";
import { openMark } from "../../src/log/mark.ts";

const directory = mkdtempSync(join(tmpdir(), "mapped-"));
afterAll(() => {
  run("umount", join(directory, "mounted"));
  rmSync(directory, { recursive: true, force: true });
});

const run = (...command: string[]) => Bun.spawnSync(command, { stderr: "ignore" }).exitCode === 0;

/** A btrfs of its own, or undefined where this user may not have one. */
function smallBtrfs(): string | undefined {
  const image = join(directory, "image");
  const mounted = join(directory, "mounted");
  mkdirSync(mounted);
  if (!run("truncate", "-s", "128M", image) || !run("mkfs.btrfs", "-q", image)) return undefined;
  if (!run("mount", "-o", "loop", image, mounted)) return undefined;
  return mounted;
}

const btrfs = smallBtrfs();

test("a mark of an earlier version keeps its number, and gets a page", () => {
  const log = join(directory, "log");
  mkdirSync(log);
  const sequence = new Uint8Array(new Float64Array([1_234]).buffer);
  writeFileSync(join(log, "durable"), sequence);
  const mark = openMark(log);
  expect(mark.get()).toBe(1_234);
  mark.set(1_235);
  expect(openMark(log).get()).toBe(1_235);
  expect(statSync(join(log, "durable")).size).toBe(4_096);
  expect(readFileSync(join(log, "durable")).readDoubleLE(0)).toBe(1_235);
});

test("what a crash left of making a file does not keep the next process of its number from it", () => {
  const path = join(directory, "again");
  writeFileSync(`${path}.${process.pid}`, "half");
  makeMappable(path, new Uint8Array(4_096));
  expect(statSync(path).size).toBe(4_096);
});

test("a file that cannot be made leaves nothing behind", () => {
  const child = [process.execPath, join(import.meta.dir, "no-space-child.ts"), directory];
  const limited = ["/bin/sh", "-c", 'ulimit -f 2; exec "$0" "$@"', ...child];
  expect(Bun.spawnSync(limited, { stderr: "inherit" }).stdout.toString()).toBe("refused\n");
  expect(readdirSync(directory).filter((name) => name.startsWith("full"))).toEqual([]);
});

test.skipIf(btrfs === undefined)(
  "a full btrfs refuses a change, and ends no process that stores to what it mapped",
  async () => {
    const child = [process.execPath, join(import.meta.dir, "full-btrfs-child.ts"), btrfs!];
    const { stdout, signalCode, exitCode } = Bun.spawnSync(child, { stderr: "inherit" });
    expect({ signalCode, exitCode }).toEqual({ signalCode: undefined, exitCode: 0 } as never);
    expect(JSON.parse(stdout.toString())).toMatchObject({ refused: true, after: "taken" });
  },
  300_000,
);
