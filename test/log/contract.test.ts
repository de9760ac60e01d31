import { expect, test } from "bun:test";
import { join } from "node:path";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { describeEventLog, type OpenLog } from "./contract.ts";
import { openTextWriter, quiet, readAll, temporaryDirectory, texts } from "./support.ts";

async function open(directory: string, segmentBytesMax: number): Promise<OpenLog> {
  const writer = await openTextWriter(directory, { segmentBytesMax });
  return {
    writer,
    reader: await openLogReader({ directory, losses: new LossReport({ logger: quiet }) }),
  };
}

for (const segmentBytesMax of [100, 1000, 64 << 20]) {
  const root = temporaryDirectory();
  const name = `segment files of ${segmentBytesMax} bytes`;
  describeEventLog(name, (log) => open(join(root, log), segmentBytesMax));
}

test("numbers of records in segment files have no gaps", async () => {
  const { writer, reader } = await open(temporaryDirectory(), 1000);
  await Promise.all(texts(20_000).map((text) => writer.append(text)));
  reader.advance(writer.durable());
  expect(await readAll(reader)).toEqual(texts(20_000).map((text, i) => [i, text]));
  await writer.close();
});
