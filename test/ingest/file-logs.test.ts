import { expect, test } from "bun:test";
import { join } from "node:path";
import { openFileLogs } from "../../src/ingest/log/file-logs.ts";
import { openMark } from "../../src/log/durable-mark.ts";
import {
  appendEach,
  listeningLogger,
  openFiles,
  openTextWriter,
  quiet,
  readAll,
  temporaryDirectory,
  texts,
} from "../log/support.ts";

async function write(directory: string, name: string, count: number): Promise<void> {
  const writer = await openTextWriter(join(directory, name));
  await appendEach(writer, texts(count));
  await writer.close();
}

test("the logs of this server's processes and those that earlier ones left are read", async () => {
  const directory = temporaryDirectory();
  await write(directory, "0", 2);
  await write(directory, "3", 5);
  await write(directory, "strange", 1);
  const logs = await openFileLogs({ directory, count: 2, logger: quiet });
  expect([...logs.readers.keys()].sort()).toEqual(["0", "1", "3"]);
  // A log is read as far as its mark says; a left one has the end that its blocks have.
  expect((await logs.ends())["3"]).toBe(5);
  expect(await readAll(logs.readers.get("3")!)).toHaveLength(5);
  expect(logs.warnings()).toEqual([]);
  await logs.close();
  expect(openFiles(directory)).toBe(0);
});

test("a process begins behind what was read or stored, and knows the logs with records", async () => {
  const directory = temporaryDirectory();
  await write(directory, "2", 4);
  await write(directory, "3", 0);
  const segments = { segmentBytesMax: 1_000 };
  const options = { directory, count: 2, known: { "0": 7 }, segments, logger: quiet };
  const logs = await openFileLogs(options);
  logs.written(1, 9, undefined);
  const others = logs.settings(0) as unknown as { otherLogs: unknown[] };
  expect(others).toMatchObject({ kind: "files", firstSequence: 7, segmentBytesMax: 1_000 });
  expect(others).toMatchObject({ directory: join(directory, "0") });
  expect(others.otherLogs).toEqual([
    { log: 1, directory: join(directory, "1") },
    { log: 2, directory: join(directory, "2") },
  ]);
  expect(logs.settings(1)).toMatchObject({ firstSequence: 9 });
  await logs.close();
});

test("listeners hear of new durable records until they leave", async () => {
  const directory = temporaryDirectory();
  const logs = await openFileLogs({ directory, count: 1, logger: quiet });
  const news: unknown[] = [];
  const leave = logs.onDurable((range) => news.push(range));
  openMark(join(directory, "0")).set(3);
  logs.opened(0, 2);
  expect(await logs.ends()).toEqual({ "0": 3 });
  logs.written(0, 4, ["s"]);
  logs.written(0, 5, undefined);
  expect(await logs.ends()).toEqual({ "0": 5 });
  leave();
  logs.written(0, 6, ["s"]);
  expect(news).toEqual([undefined, { log: "0", end: 4, sources: ["s"] }, undefined]);
  await logs.close();
});

test("records that a left log has lost are reported, and their numbers are passed over", async () => {
  const directory = temporaryDirectory();
  await write(directory, "1", 2);
  const { logger, lines } = listeningLogger();
  const logs = await openFileLogs({ directory, count: 1, known: { "1": 6 }, logger });
  expect(await logs.ends()).toEqual({ "0": 0, "1": 6 });
  expect(openMark(join(directory, "1")).get()).toBe(6);
  expect(logs.warnings()).toHaveLength(1);
  expect(lines).toContainEqual(expect.objectContaining({ from: 2, to: 6 }));
  logs.missing(0, { from: 1, to: 3 });
  expect(lines).toContainEqual(expect.objectContaining({ from: 1, to: 3 }));
  await logs.close();
});

test("records that a left log has lost are reported if only its mark tells of them", async () => {
  const directory = temporaryDirectory();
  await write(directory, "1", 2);
  openMark(join(directory, "1")).set(6);
  const { logger, lines } = listeningLogger();
  const logs = await openFileLogs({ directory, count: 1, logger });
  expect(await logs.ends()).toEqual({ "0": 0, "1": 6 });
  expect(openMark(join(directory, "1")).get()).toBe(6);
  expect(lines).toContainEqual(expect.objectContaining({ from: 2, to: 6 }));
  await logs.close();
});
