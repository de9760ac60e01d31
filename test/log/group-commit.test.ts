import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { Registry } from "prom-client";
import { LOG_BLOCK_BYTES_MAX } from "../../src/log/block.ts";
import { LogUnavailable, type RecordCodec } from "../../src/log/event-log.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { listSegments } from "../../src/log/segment/segments.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { LOG_PENDING_BYTES_MAX } from "../../src/settings/limits.ts";
import {
  metricValue,
  openTextWriter,
  quiet,
  readAll,
  temporaryDirectory,
  textCodec,
} from "./support.ts";

test("records of one turn of the event loop share one promise and one block", async () => {
  const writer = await openTextWriter(temporaryDirectory());
  const first = writer.append("a");
  expect(writer.append("b")).toBe(first);
  await first;
  expect(writer.durable()).toBe(2);
  const second = writer.append("c");
  expect(second).not.toBe(first);
  await writer.close();
});

test("records appended during a write join the next batch", async () => {
  const metrics = new Registry();
  const directory = temporaryDirectory();
  const writer = await openLogWriter({ directory, codec: textCodec, logger: quiet, metrics });
  let acknowledged = 0;
  await Promise.all(
    Array.from({ length: 64 }, async (_, client) => {
      for (let i = 0; i < 50; i++) {
        await writer.append(`${client}.${i}`);
        acknowledged++;
        expect(writer.durable()).toBeGreaterThanOrEqual(acknowledged);
      }
    }),
  );
  const flushes = await metricValue(metrics, "pixelmill_log_flush_seconds");
  expect(flushes).toBeGreaterThanOrEqual(50);
  expect(flushes).toBeLessThan(64 * 50 * 0.25);

  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(writer.durable());
  const seen = new Map<string, number>();
  for (const [, text] of await readAll(reader)) {
    const [client, i] = text.split(".") as [string, string];
    expect(Number(i)).toBe(seen.get(client) ?? 0);
    seen.set(client, Number(i) + 1);
  }
  expect([...seen.values()]).toEqual(Array(64).fill(50));
  await writer.close();
});

test("records of consecutive turns of the event loop join one flush", async () => {
  const writer = await openTextWriter(temporaryDirectory());
  const first = writer.append("a");
  for (let n = 0; n < 50; n++) await Promise.resolve();
  expect(writer.append("b")).toBe(first);
  await first;
  await writer.close();
});

test("an endless stream of records delays no flush", async () => {
  const writer = await openTextWriter(temporaryDirectory());
  let flushes = 0;
  while (flushes < 20) {
    writer.append("x").then(() => flushes++);
    await new Promise(setImmediate);
  }
  await writer.close();
}, 300_000);

test("records on disk are counted", async () => {
  const metrics = new Registry();
  const directory = temporaryDirectory();
  const writer = await openLogWriter({ directory, codec: textCodec, logger: quiet, metrics });
  const value = (name: string) => metricValue(metrics, `pixelmill_log_${name}`);
  expect(await value("healthy_ratio")).toBe(1);
  await Promise.all(["a", "b"].map((text) => writer.append(text)));
  await writer.append("c");
  expect(await value("appended_records_total")).toBe(3);
  expect(await value("appended_bytes_total")).toBe(statSync(listSegments(directory)[0]!.path).size);
  expect(await value("flush_seconds")).toBe(2);
  await writer.close();
  await expect(writer.append("d")).rejects.toThrow("The event log is closed");
  expect(await value("rejected_records_total")).toBe(1);
  await writer.close();
});

test("a burst takes several blocks and keeps its order", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  const burst = Array.from({ length: 3000 }, (_, i) => `${i} `.padEnd(1200, "x"));
  await Promise.all(burst.map((text) => writer.append(text)));
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(3000);
  expect((await readAll(reader)).map(([, text]) => text)).toEqual(burst);
  await writer.close();
});

test("refuses records beyond the bound of waiting bytes until the disk has caught up", async () => {
  const writer = await openTextWriter(temporaryDirectory());
  const text = "x".repeat(100_000);
  const outcomes: Promise<"kept" | "refused">[] = [];
  for (let bytes = 0; bytes < LOG_PENDING_BYTES_MAX + (8 << 20); bytes += text.length) {
    const outcome = writer.append(text).then(
      () => "kept" as const,
      (error) => {
        expect(error).toBeInstanceOf(LogUnavailable);
        return "refused" as const;
      },
    );
    outcomes.push(outcome);
  }
  const settled = await Promise.all(outcomes);
  const kept = settled.indexOf("refused");
  expect(kept * text.length).toBeGreaterThan(LOG_PENDING_BYTES_MAX * 0.9);
  expect(kept * text.length).toBeLessThanOrEqual(LOG_PENDING_BYTES_MAX + text.length);
  expect(settled.slice(kept)).not.toContain("kept");
  expect(writer.durable()).toBe(kept);
  expect(writer.healthy()).toBe(true);
  await writer.append("one more");
  expect(writer.durable()).toBe(kept + 1);
  await writer.close();
});

test("a request is stored as a whole or not at all when many bytes wait for the disk", async () => {
  const writer = await openTextWriter(temporaryDirectory());
  const text = "x".repeat(100_000);
  const count = Math.floor(LOG_PENDING_BYTES_MAX / text.length) - 5;
  const waiting = Array.from({ length: count }, () => writer.append(text));
  const request = Array<string>(10).fill(text);
  const stored = writer.appendAll(request);
  await expect(writer.appendAll(["a", "b"])).rejects.toBeInstanceOf(LogUnavailable);
  await Promise.all([...waiting, stored]);
  expect(writer.durable()).toBe(count + request.length);
  await writer.close();
});

test("a record that is too large, or fails to encode, fails alone", async () => {
  const codec: RecordCodec<string> = {
    bytesMax: textCodec.bytesMax,
    encode(text, into, offset) {
      if (text === "bad") throw new TypeError("Expected a good record");
      return textCodec.encode(text, into, offset);
    },
  };
  const directory = temporaryDirectory();
  const writer = await openLogWriter({ directory, codec, logger: quiet });
  const outcomes = await Promise.allSettled(
    ["bad", "a", "x".repeat(LOG_BLOCK_BYTES_MAX), "bad", "b"].map((text) => writer.append(text)),
  );
  expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual([
    false,
    true,
    false,
    false,
    true,
  ]);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(writer.durable());
  expect(await readAll(reader)).toEqual([
    [0, "a"],
    [1, "b"],
  ]);
  await writer.close();
});
