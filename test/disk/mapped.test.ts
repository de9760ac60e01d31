import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test.skipIf(btrfs === undefined)(
  "a full btrfs refuses a change, and ends no process that stores to what it mapped",
  async () => {
    const child = [process.execPath, join(import.meta.dir, "full-btrfs-child.ts"), btrfs!];
    const { stdout, signalCode, exitCode } = Bun.spawnSync(child, { stderr: "inherit" });
    expect({ signalCode, exitCode }).toEqual({ signalCode: undefined, exitCode: 0 } as never);
    expect(JSON.parse(stdout.toString())).toMatchObject({ refused: true, after: "taken" });
  },
  120_000,
);
