import { expect, test } from "bun:test";
import { openLogWriter } from "../../src/log/writer.ts";
import { openTextWriter, quiet, temporaryDirectory, textCodec } from "./support.ts";

test("a log whose opening failed can be opened again", async () => {
  const directory = temporaryDirectory();
  const failing = openLogWriter({
    ...{ directory, codec: textCodec, logger: quiet, first: 5 },
    onMissing() {
      throw new Error("not reported");
    },
  });
  await expect(failing).rejects.toThrow("not reported");
  const writer = await openTextWriter(directory);
  expect(writer.durable()).toBe(0);
  await writer.close();
});
