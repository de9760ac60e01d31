import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { addonFiles, patchAddon } from "../../src/store/lmdb/patch-addon.ts";
import { testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { fillDisk, makeSpace, mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";

const DISK_BYTES = 16 << 20;

testWith(mountMissing)(
  "a process lives through thousands of commits to a full disk, and names the disk",
  async () => {
    const directory = temporaryDirectory();
    const disk = join(directory, "disk");
    mkdirSync(disk);
    mountDisk(disk, DISK_BYTES);
    try {
      const file = join(dirname(import.meta.path), "full-disk-child.ts");
      const child = Bun.spawn([process.execPath, file, disk], { stdout: "pipe", stderr: "pipe" });
      const output = await new Response(child.stdout).text();
      expect(await child.exited).toBe(0);
      const [, failed = "", trouble] = /^(\d+) failed: (.*)\n$/.exec(output) ?? [];
      expect(Number(failed)).toBeGreaterThan(2_000);
      expect(trouble).toContain(`the disk of ${disk}/0 is full (0 bytes free): make space on it`);
    } finally {
      unmountDisk(disk);
      removeDirectory(directory);
    }
  },
  300_000,
);

testWith(mountMissing)(
  "a store with a reserve takes changes on a full disk, and fills the reserve up again",
  async () => {
    const disk = temporaryDirectory();
    mountDisk(disk, DISK_BYTES);
    const reserveBytes = 1 << 20;
    const options = { path: join(disk, "store.mdb"), name: "The store" };
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line).msg) });
    const store = openStore({ ...options, reserveBytes, logger });
    const table = store.table<string, string>("t");
    const put = (key: string) => store.change(() => void table.put(key, "x".repeat(100_000)));
    try {
      for (let round = 0; round < 3; round++) {
        fillDisk(disk);
        // More than half of the reserve at the first round, and less than all of it.
        for (let n = 0; n < 6; n++) await put(`${round} ${n}`);
        expect(store.trouble()).toBeUndefined();
        makeSpace(disk);
        await put(`${round} more`);
        const [full, free, ...more] = lines.splice(0);
        expect(full).toStartWith("no disk space is kept in reserve");
        expect([free, ...more]).toEqual(["disk space is kept in reserve again"]);
      }
    } finally {
      await store.close();
      unmountDisk(disk);
      removeDirectory(disk);
    }
  },
  300_000,
);

test("the installed addon of lmdb is patched, and another one is refused", () => {
  expect(addonFiles().length).toBeGreaterThan(0);
  for (const path of addonFiles()) {
    const addon = readFileSync(path);
    expect(patchAddon(addon)).toBeFalse();
    expect(addon.includes("buffer sizes %i %i %i")).toBeTrue();
    const other = Buffer.from(
      addon.toString("latin1").replace("Attempting to write", "Trying to write"),
      "latin1",
    );
    expect(() => patchAddon(other)).toThrow(/^Expected the text "Attempting to write page at/);
  }
});
