import { afterAll, expect, spyOn, test } from "bun:test";
import { chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFile, waitForFile } from "../../src/disk/lock.ts";
import { rootMissing, testWith } from "../counterpart.ts";

const directory = mkdtempSync(join(tmpdir(), "lock-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("shared locks admit each other, an exclusive one admits none", () => {
  const path = join(directory, "table");
  for (const [held, wanted, isLocked] of [
    ["shared", "shared", true],
    ["shared", "exclusive", false],
    ["exclusive", "shared", false],
    ["exclusive", "exclusive", false],
  ] as const) {
    const unlock = lockFile(path, held)!;
    const second = lockFile(path, wanted);
    expect([held, wanted, second !== undefined]).toEqual([held, wanted, isLocked]);
    second?.();
    unlock();
    lockFile(path, "exclusive")!();
  }
});

test("a file that is locked is waited for, up to the time limit", async () => {
  const path = join(directory, "waited-for");
  const unlock = lockFile(path, "exclusive")!;
  const waits: number[] = [];
  const sleep = spyOn(Bun, "sleep").mockImplementation(async (ms) => {
    waits.push(Number(ms));
    if (waits.length === 3) unlock();
  });
  try {
    expect(await waitForFile(path, "exclusive", 0)).toBeUndefined();
    expect(waits).toEqual([]);
    (await waitForFile(path, "exclusive", 60_000))!();
    expect(waits).toHaveLength(3);
    (await waitForFile(path, "exclusive", 0))!();
  } finally {
    sleep.mockRestore();
  }
});

const OWNER = 12_345;

testWith(rootMissing)(
  "a lock that a command of root makes can be taken by the server whose directory it is in",
  () => {
    chownSync(directory, OWNER, OWNER);
    const path = join(directory, "trimming");
    lockFile(path, "shared")!();
    const { uid, gid } = statSync(path);
    expect({ uid, gid }).toEqual({ uid: OWNER, gid: OWNER });
    const open = ["/usr/bin/setpriv", `--reuid=${OWNER}`, "--clear-groups", "/bin/sh", "-c"];
    expect(Bun.spawnSync([...open, `: >> ${path}`]).exitCode).toBe(0);
  },
);
