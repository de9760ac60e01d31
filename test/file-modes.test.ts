import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, createReadStream, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { fileEntry, pack, unpack } from "../src/backup/archive.ts";
import { backupTarget } from "../src/backup/backup-target.ts";
import { openSafely, writeAtomically } from "../src/destinations/file/safe-path.ts";
import { lockFile } from "../src/disk/lock.ts";
import { makeMappable } from "../src/disk/mapped.ts";
import { prepareDataDirectory } from "../src/first-start/data-directory.ts";
import { recordRefused } from "../src/log/refused-records.ts";
import { createSegment } from "../src/log/segment/segment-file.ts";
import { openLedger } from "../src/pipeline/ledger/ledger.ts";
import type { Config } from "../src/settings/keys.ts";
import { openView } from "../src/store/lmdb/view.ts";

const root = mkdtempSync(join(tmpdir(), "pixelmill-modes-"));
let umask = 0;
// The mode of a new file is what the code asks for.
beforeAll(() => {
  umask = process.umask(0);
});
afterAll(() => {
  process.umask(umask);
  rmSync(root, { recursive: true });
});

const logger = pino({ level: "silent" });
const bytes = new Uint8Array([1, 2, 3]);
const archive = join(root, "archive");

test.each([
  ["a list of refused records", "refused", 0o640, () => recordRefused(root, { from: 0, to: 1 })],
  ["a lock", "lock", 0o640, () => lockFile(join(root, "lock"), "shared")?.()],
  ["a file written whole", "whole", 0o640, () => writeAtomically(root, "whole", bytes)],
  ["a file of events", "lines", 0o640, async () => await (await openSafely(root, "lines")).close()],
  [
    "a data directory",
    "data",
    0o700,
    () =>
      prepareDataDirectory({ data: join(root, "data"), "cluster.kafka": [] as string[] } as Config),
  ],
  [
    "the directory of a view",
    "view",
    0o700,
    () => openView({ path: join(root, "view/view.mdb"), name: "The view", logger }).close(),
  ],
  [
    "the directory of a store",
    "ledger",
    0o700,
    () => openLedger(join(root, "ledger"), logger).close(),
  ],
  [
    "the directory of backups",
    "backups",
    0o700,
    () => backupTarget({ "backup.directory": join(root, "backups") } as Config, logger).close(),
  ],
  ["a file that readers map", "mapped", 0o640, () => makeMappable(join(root, "mapped"), bytes)],
  [
    "a backup",
    "archive",
    0o600,
    async () => {
      writeFileSync(join(root, "source"), "events");
      await pack(archive, [fileEntry(join(root, "source"), "format")]);
    },
  ],
] as [string, string, number, () => unknown][])(
  "%s gives no rights to others",
  async (_, name, mode, make) => {
    await make();
    expect((statSync(join(root, name)).mode & 0o777).toString(8)).toBe(mode.toString(8));
  },
);

test("a segment of the log gives no rights to others", async () => {
  const segment = await createSegment(root, 0);
  closeSync(segment.fd);
  if (segment.direct !== undefined) closeSync(segment.direct);
  expect((statSync(segment.path).mode & 0o777).toString(8)).toBe("640");
});

test("files and directories of an unpacked backup give no rights to others", async () => {
  const entry = join(root, "events");
  writeFileSync(entry, "events");
  const packed = join(root, "packed");
  await pack(packed, [fileEntry(entry, "events/0/0000000000000000.segment")]);
  const unpacked = join(root, "unpacked");
  await unpack({ name: "a backup", read: () => createReadStream(packed) }, unpacked);
  const modeOf = (path: string) => (statSync(join(unpacked, path)).mode & 0o777).toString(8);
  expect(modeOf("events")).toBe("700");
  expect(modeOf("events/0/0000000000000000.segment")).toBe("600");
});
