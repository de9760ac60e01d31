import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventOf } from "../../src/event/event.ts";
import { decodeRecord, eventRecordCodec } from "../../src/event/record.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { createLogger } from "../../src/observe/log.ts";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";
import { openSdkListener, track } from "./sdk/_sdk.ts";

const logger = createLogger("silent");
const PIXELS = 500;

test("an event answered 200 is read back from the log on disk", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-pixel-"));
  try {
    const writer = await openLogWriter({ directory, codec: eventRecordCodec, logger });
    const server = openListener({ log: writer });
    const answers = await Promise.all(
      Array.from({ length: PIXELS }, (_, i) =>
        fetch(
          `${server.url}/pixel/v1/track?writeKey=${WRITE_KEY}&userId=u&event=e&properties.n=${i}`,
        ),
      ),
    );
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    expect(writer.durable()).toBe(PIXELS);
    await server.stop();
    await writer.close();

    const events = await readEvents(directory, PIXELS);
    const numbers = events.map((event) => event.properties.n).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: PIXELS }, (_, i) => i));
    expect(new Set(events.map((event) => event.messageId)).size).toBe(PIXELS);
    expect(events.every((event) => event.request_ip === "127.0.0.1")).toBe(true);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("every event of a batch that is answered 200 is on disk, and read back", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-sdk-"));
  try {
    const writer = await openLogWriter({ directory, codec: eventRecordCodec, logger });
    const server = openSdkListener({ log: writer });
    // Larger than a block of the log, so that the records of a request are in several.
    const text = "x".repeat(4_000);
    const batch = Array.from({ length: PIXELS }, (_, n) => track(`${n}`, { properties: { text } }));
    for (let request = 1; request <= 2; request++) {
      expect(await server.post("/v1/batch", { batch })).toMatchObject({ status: 200 });
      expect(writer.durable()).toBe(request * PIXELS);
    }
    await server.stop();
    await writer.close();
    const events = await readEvents(directory, 2 * PIXELS);
    expect(events.map(({ messageId }) => messageId)).toEqual(
      [...batch, ...batch].map(({ messageId }) => messageId),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a batch without events is answered at once, and the next one is stored", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-sdk-"));
  try {
    const writer = await openLogWriter({ directory, codec: eventRecordCodec, logger });
    const server = openSdkListener({ log: writer });
    expect(await server.post("/v1/batch", { batch: [] })).toMatchObject({ status: 200 });
    expect(writer.durable()).toBe(0);
    expect(await server.post("/v1/batch", { batch: [track("1")] })).toMatchObject({ status: 200 });
    expect(writer.durable()).toBe(1);
    await server.stop();
    await writer.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a pixel to a closed log is answered 503", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-pixel-"));
  try {
    const writer = await openLogWriter({ directory, codec: eventRecordCodec, logger });
    const server = openListener({ log: writer });
    await writer.close();
    const answer = await send(
      server.port,
      get(`/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`),
    );
    expect(answer.status).toBe(503);
    await server.stop();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

// events have whatever fields the query had.
async function readEvents(directory: string, end: number): Promise<any[]> {
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  reader.advance(end);
  const events = [];
  let sequence = 0;
  while (sequence < end) {
    const { records, next } = await reader.read(sequence, 1 << 16);
    for (const { bytes } of records) {
      events.push(JSON.parse(Buffer.from(eventOf(decodeRecord(bytes)).json).toString()));
    }
    sequence = next;
  }
  await reader.close();
  return events;
}
