import { expect, test } from "bun:test";
import { StartError } from "../../src/errors.ts";
import { lockDirectory, tryTrimming, withoutTrimming } from "../../src/log/lock.ts";
import { holds } from "../until.ts";
import { openFiles, openTextWriter, temporaryDirectory } from "./support.ts";

test("a directory locked by another writer is refused by name", async () => {
  const directory = temporaryDirectory();
  const unlock = await lockDirectory(directory);
  const refused = lockDirectory(directory, 100).catch((error) => error);
  expect(await refused).toBeInstanceOf(StartError);
  expect((await refused).message).toContain(directory);
  unlock();
  (await lockDirectory(directory, 100))();
});

test("a log that is being trimmed is not copied", async () => {
  const directory = temporaryDirectory();
  const trimmed = tryTrimming(directory)!;
  const refused = withoutTrimming(directory, 100).catch((error) => error);
  expect(await refused).toBeInstanceOf(StartError);
  expect((await refused).message).toBe(`${directory} is being trimmed for more than 0.1 s`);
  trimmed();
  (await withoutTrimming(directory, 100))();
});

test("a closed writer keeps no descriptor open", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  await writer.append("text");
  expect(openFiles(directory)).toBeGreaterThan(0);
  await writer.close();
  expect(openFiles(directory)).toBe(0);
});

test("a writer waits until the writer before it has closed", async () => {
  const directory = temporaryDirectory();
  const first = await openTextWriter(directory);
  let opened = false;
  const second = openTextWriter(directory).then((writer) => {
    opened = true;
    return writer;
  });
  await holds(150, () => expect(opened).toBe(false));
  await first.append("first");
  await first.close();
  const writer = await second;
  expect(writer.durable()).toBe(1);
  await writer.close();
});
