import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { logEntries } from "../../src/backup/archive.ts";
import { fileSource } from "../../src/backup/archive-source.ts";
import { backUpTo } from "../../src/backup/back-up-to.ts";
import { release, restore } from "../../src/backup/restore.ts";
import { verify } from "../../src/backup/verify.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import {
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  holdFile,
  prepareDataDirectory,
} from "../../src/first-start/data-directory.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { quiet, textCodec } from "../log/support.ts";
import { commitLetters } from "../pipeline/doubles.ts";

/** Backups that are made and restored in the process of the test. */

let root: string;
const at = (name: string) => join(root, name);
const configOf = (name: string) => readSettings({ data: at(name) }, {}).config;

beforeEach(() => {
  root = temporaryDirectory();
});
afterEach(() => removeDirectory(root));

/** Makes a data directory with workspaces, dead letters of the first, and records in two logs. */
async function makeData({ workspaces = 2, letters = 3, records = [4, 1] } = {}) {
  const config = configOf("data");
  prepareDataDirectory(config);
  const catalog = await openCatalog({ directory: catalogDirectory(config), logger: quiet });
  const ids: string[] = [];
  for (let n = 0; n < workspaces; n++) ids.push((await catalog.workspaces.create(`W${n}`)).id);
  await catalog.close();
  const ledger = openLedger(deliveryDirectory(config), quiet);
  const letterOf = (n: number): NewLetter => ({
    ...{ id: `letter${n}`, workspaceId: ids[0]!, destinationId: "d", sourceId: "s", text: "{}" },
    ...{ messageId: "m", stage: "deliver", reason: "No", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 0 },
  });
  if (letters > 0)
    await commitLetters(
      ledger,
      Array.from({ length: letters }, (_, n) => letterOf(n)),
    );
  await ledger.close();
  for (const [name, count] of records.entries()) {
    const directory = join(eventsDirectory(config), String(name));
    const log = await openLogWriter({ directory, codec: textCodec, logger: quiet });
    for (let n = 0; n < count; n++) await log.append(`record ${n}`);
    await log.close();
  }
  return config;
}

const contents = { workspaces: 2, deadLetters: 3, records: 5, warnings: [] };

test("a backup has all of a data directory, and no other file is left beside it", async () => {
  const config = await makeData();
  writeFileSync(join(eventsDirectory(config), "notes"), "not a log");
  const { bytes, ...made } = await backUpTo(config, at("one.tar.zst"));
  expect(made).toEqual(contents);
  expect(bytes).toBe(statSync(at("one.tar.zst")).size);
  expect(statSync(at("one.tar.zst")).mode & 0o777).toBe(0o600);
  expect(readdirSync(root).sort()).toEqual(["data", "one.tar.zst"]);
  await expect(backUpTo(config, at("one.tar.zst"))).rejects.toThrow(
    `Expected a new file, but ${at("one.tar.zst")} exists`,
  );
  await expect(backUpTo(config, at("no/where"))).rejects.toThrow(
    `Cannot make the backup ${at("no/where")}: ENOENT`,
  );
});

test("a restored backup is a data directory that may deliver at once", async () => {
  const config = await makeData();
  await backUpTo(config, at("backup"));
  const target = configOf("copy");
  expect(await restore(target, fileSource(at("backup")), false)).toEqual(contents);
  expect(existsSync(holdFile(target))).toBe(false);
  expect(release(target)).toBe(false);
  expect(readdirSync(root).sort()).toEqual(["backup", "copy", "data"]);
  expect(readdirSync(target.data).sort()).toEqual(["catalog", "delivery", "events", "format"]);
  const again = await openCatalog({ directory: catalogDirectory(target), logger: quiet });
  expect(again.workspaces.list().map(({ name }) => name)).toEqual(["W0", "W1"]);
  await again.close();
  expect(readFileSync(join(target.data, "format"), "utf8")).toBe("1\n");
});

test("a backup that is restored on hold delivers nothing until it is released", async () => {
  const config = await makeData({ workspaces: 1, letters: 0, records: [] });
  expect(await backUpTo(config, at("backup"))).toMatchObject({ workspaces: 1, records: 0 });
  const target = configOf("copy");
  // An empty directory may be there already, such as a mounted volume.
  mkdirSync(target.data);
  await restore(target, fileSource(at("backup")), true);
  expect(existsSync(holdFile(target))).toBe(true);
  expect([release(target), release(target)]).toEqual([true, false]);
  expect(existsSync(holdFile(target))).toBe(false);
});

test("a failed restore leaves no directory, and never one that has content", async () => {
  const config = await makeData({ records: [] });
  await expect(restore(config, fileSource(at("none")), false)).rejects.toThrow(
    `Expected ${config.data} to be empty or absent, but it has content`,
  );
  writeFileSync(at("text"), "this is no archive");
  for (const name of ["text", "none"]) {
    const failed = restore(configOf("copy"), fileSource(at(name)), true);
    await expect(failed).rejects.toThrow(`Cannot read ${at(name)} as a backup: `);
  }
  expect(readdirSync(root).sort()).toEqual(["data", "text"]);
});

test("a backup with lost records is read to its end, and tells of them", async () => {
  const config = await makeData({ records: [3] });
  const directory = join(eventsDirectory(config), "0");
  // A second segment, which begins behind records that are missing.
  const next = await openLogWriter({ directory, codec: textCodec, logger: quiet, first: 10 });
  for (const text of ["a", "b"]) await next.append(text);
  await next.close();
  await backUpTo(config, at("backup"));
  const found = await verify(fileSource(at("backup")), at("unpacked"));
  expect(found).toEqual({
    ...contents,
    records: 5,
    warnings: [expect.stringContaining("Event log 0: 7")],
  });
});

test("an archive has the files of a log with the lengths that they have, in their order", () => {
  const log = at("0");
  mkdirSync(log);
  const names = ["0000000000000010.segment", "0000000000000000.segment", "refused"];
  for (const [n, name] of names.entries()) writeFileSync(join(log, name), "x".repeat(n));
  for (const other of ["lock", "1.segment", "0000000000000010.segment.part"]) {
    writeFileSync(join(log, other), "x");
  }
  const entries = logEntries(log, "7").map(({ target, size, type, mode }) => ({
    ...{ name: basename(target), folder: dirname(target), size, type, mode },
  }));
  const common = { folder: "events/7", mode: 0o600 };
  expect(entries).toEqual([
    { ...common, name: names[1]!, size: 1, type: "stream" },
    { ...common, name: names[0]!, size: 0, type: "content" },
    { ...common, name: names[2]!, size: 2, type: "stream" },
  ]);
});
