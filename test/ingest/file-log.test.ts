import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { PixelRecord } from "../../src/event/record.ts";
import { openFileLog } from "../../src/ingest/log/file-log.ts";
import { createMessageId } from "../../src/ingest/message-id.ts";
import type { IngestMessage } from "../../src/ingest/messages.ts";
import { createMetrics } from "../../src/observe/metrics.ts";

const record = (): PixelRecord => ({
  ...{ type: "page", receivedAt: 0, sourceId: "s", clientAddress: "", query: "a=b" },
  messageId: createMessageId(),
});

/** Runs `append` over a log, and returns the sequences that the log reported to the server. */
async function reports(
  append: (
    log: Awaited<ReturnType<typeof openFileLog>>,
    last: () => number | undefined,
  ) => Promise<void>,
) {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-file-log-"));
  const sent: IngestMessage[] = [];
  const log = await openFileLog(
    { kind: "files", directory, firstSequence: 0, otherLogs: [] },
    {
      logger: pino({ level: "silent" }),
      metrics: createMetrics("test"),
      onHealth() {},
      send: (message) => sent.push(message),
    },
  );
  const sequences = () =>
    sent.flatMap((message) => (message.type === "durable" ? [message.sequence] : []));
  try {
    await append(log, () => sequences().at(-1));
  } finally {
    await log.close();
    rmSync(directory, { recursive: true });
  }
  return sequences();
}

test("a pixel that comes alone is reported to the server at once, and arms no timer", async () => {
  const { setTimeout } = globalThis;
  let timers = 0;
  globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
    timers++;
    return setTimeout(...args);
  }) as typeof setTimeout;
  try {
    const sequences = await reports(async (log) => {
      for (let n = 0; n < 10; n++) {
        await log.append(record(), 0);
        // Longer than a pause between two reports and than the wait of a flush.
        await Bun.sleep(20);
      }
    });
    expect(sequences).toEqual(Array.from({ length: 10 }, (_, n) => n + 1));
    expect(timers).toBe(0);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

test("pixels that follow each other share reports, and the last one is reported", async () => {
  const sequences = await reports(async (log, last) => {
    for (let n = 0; n < 200; n++) await log.append(record(), 0);
    while (last() !== 200) await Bun.sleep(5);
  });
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});
