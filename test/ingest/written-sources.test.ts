import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import type { PixelRecord } from "../../src/event/record.ts";
import { WrittenSources } from "../../src/ingest/log/written-sources.ts";
import { LogUnavailable, type LogWriter } from "../../src/log/event-log.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a source is reported until all its records are on disk, and not after that", async () => {
  const flushes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let next = flushes[0]!;
  const log = {
    append: () => next.promise,
    appendAll: () => next.promise,
  } as unknown as LogWriter<PixelRecord>;
  const written = new WrittenSources();
  const wrapped = written.wrap(log);
  const append = (sourceId: string) => {
    wrapped.append({ sourceId } as PixelRecord).catch(() => {});
  };
  const appendAll = (...sources: string[]) => {
    wrapped.appendAll(sources.map((sourceId) => ({ sourceId }) as PixelRecord)).catch(() => {});
  };
  const told = () => [...written.take()].toSorted();

  expect(told()).toEqual([]);
  append("a");
  appendAll("b", "a");
  // Nothing of it needs to be durable yet.
  expect(told()).toEqual(["a", "b"]);
  next = flushes[1]!;
  append("c");
  expect(told()).toEqual(["a", "b", "c"]);
  flushes[0]!.resolve();
  await turn();
  expect(told()).toEqual(["a", "b", "c"]);
  expect(told()).toEqual(["c"]);
  // A refused record may be on disk after a crash.
  flushes[1]!.reject(new Error("The disk failed"));
  await turn();
  expect(told()).toEqual(["c"]);
  expect(told()).toEqual([]);
});

test("records that a full disk refuses take no memory until the next report", async () => {
  const log = { append: () => Promise.reject(new LogUnavailable("The disk failed")) };
  const written = new WrittenSources();
  const wrapped = written.wrap(log as unknown as LogWriter<PixelRecord>);
  const sets = () => {
    Bun.gc(true);
    return heapStats().objectTypeCounts.Set ?? 0;
  };
  const before = sets();
  for (let n = 0; n < 10_000; n++) {
    wrapped.append({ sourceId: `source ${n % 2}` } as PixelRecord).catch(() => {});
  }
  await turn();
  expect(sets() - before).toBeLessThan(1_000);
  expect([...written.take()].toSorted()).toEqual(["source 0", "source 1"]);
});
