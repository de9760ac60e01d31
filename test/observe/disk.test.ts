import { expect, test } from "bun:test";
import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { measureDisk, readDiskSpace } from "../../src/observe/disk.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

test("metrics show the space that parts of the data directory take, and the free space of the disk", async () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, "events", "0"), { recursive: true });
  await Bun.write(join(directory, "events", "0", "segment"), Buffer.alloc(1_000_000, 1));
  const registry = new Registry();
  const parts = { events: join(directory, "events"), files: join(directory, "files") };
  measureDisk(registry, directory, parts);
  const text = await registry.metrics();
  const value = (series: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(series))!
        .split(" ")[1],
    );
  expect(value('pixelmill_disk_used_bytes{part="events"}')).toBeGreaterThanOrEqual(1_000_000);
  expect(value('pixelmill_disk_used_bytes{part="events"}')).toBeLessThan(1_100_000);
  expect(value('pixelmill_disk_used_bytes{part="files"}')).toBe(0);
  const { blocks, bsize } = statfsSync(directory);
  expect(value("pixelmill_disk_free_bytes")).toBeGreaterThan(0);
  expect(value("pixelmill_disk_free_bytes")).toBeLessThanOrEqual(blocks * bsize);
  removeDirectory(directory);
});

test("the size of a disk is that of its file system, of which a part is free", () => {
  const directory = temporaryDirectory();
  const { bavail, blocks, bsize } = statfsSync(directory);
  const { freeBytes, sizeBytes } = readDiskSpace(directory);
  expect(sizeBytes).toBe(blocks * bsize);
  // Others write meanwhile.
  expect(freeBytes).toBeGreaterThan((bavail * bsize) / 2);
  expect(freeBytes).toBeLessThanOrEqual(sizeBytes);
  removeDirectory(directory);
});
