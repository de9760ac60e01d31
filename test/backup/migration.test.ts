import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { exportStandalone, importStandalone } from "../../src/backup/migration.ts";
import {
  catalogDirectory,
  clusterDirectory,
  deliveryDirectory,
  eventsDirectory,
  isDataLocked,
  prepareDataDirectory,
} from "../../src/first-start/data-directory.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { quiet } from "../log/support.ts";

/** Errors that end an import or an export before it asks a broker. */

let data: string;
beforeEach(() => {
  data = temporaryDirectory();
});
afterEach(() => removeDirectory(data));

const configOf = (more: Record<string, string> = { "cluster-kafka": "127.0.0.1:9" }) =>
  readSettings({ data, ...more }, {}).config;

test.each([
  ["an import", importStandalone],
  ["an export", exportStandalone],
])("%s without brokers is refused, and leaves the directory alone", async (_, run) => {
  await expect(run(configOf({}), quiet)).rejects.toThrow("Expected the setting cluster.kafka");
  expect(isDataLocked(configOf())).toBe(false);
  for (const place of [catalogDirectory(configOf()), clusterDirectory(configOf(), "")]) {
    expect(existsSync(place)).toBe(false);
  }
});

test("an export into a directory with any data of a server is refused", async () => {
  for (const placeOf of [catalogDirectory, eventsDirectory, deliveryDirectory]) {
    const place = placeOf(configOf());
    mkdirSync(place);
    await expect(exportStandalone(configOf(), quiet)).rejects.toThrow(
      `Expected a directory without data, got ${data}`,
    );
    expect(existsSync(place)).toBe(true);
    rmSync(place, { recursive: true });
  }
});

test("an import of a directory without data is refused, and makes none of a node", async () => {
  await expect(importStandalone(configOf(), quiet)).rejects.toThrow(
    `Expected a data directory of pixelmill, got ${data}`,
  );
  prepareDataDirectory(configOf());
  await expect(importStandalone(configOf(), quiet)).rejects.toThrow(
    `Expected the data of a server without cluster.kafka in ${data}`,
  );
  expect(existsSync(clusterDirectory(configOf(), ""))).toBe(false);
  expect(isDataLocked(configOf())).toBe(false);
});
