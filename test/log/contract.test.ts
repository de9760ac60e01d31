import { join } from "node:path";
import { openLogReader } from "../../src/log/reader.ts";
import { describeEventLog } from "./contract.ts";
import { openTextWriter, quiet, temporaryDirectory } from "./support.ts";

for (const segmentBytesMax of [100, 1000, 64 << 20]) {
  const root = temporaryDirectory();
  describeEventLog(`segment files of ${segmentBytesMax} bytes`, async (log) => {
    const directory = join(root, log);
    const writer = await openTextWriter(directory, { segmentBytesMax });
    return { writer, reader: await openLogReader({ directory, logger: quiet }) };
  });
}
