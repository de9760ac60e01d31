import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { pino } from "pino";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import type { LogReader, LogRecord } from "../../src/log/event-log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { eventOf, FakeLive, FakeSandbox, record } from "./doubles.ts";
import { until } from "./rig.ts";

/** `BACKLOG_EVENTS=1000000 bun test test/pipeline/backlog.test.ts` is the long form. */
const EVENTS = Number(process.env.BACKLOG_EVENTS ?? 60_000);
const EVENT_BYTES = 1_000;
/**
 * Bytes of heap that each event may leave: fewer than its own, more than the noise of the heap's
 * size.
 */
const LEFT_BYTES_MAX = 600;

/** A log of events that are made when they are read: it holds nothing. */
class EndlessLog implements LogReader {
  constructor(readonly count: number) {}
  first = () => 0;
  end = () => this.count;
  advance(): void {}
  countBetween(from: number, to: number): number {
    return Math.max(0, to - from);
  }

  async read(sequence: number, bytesMax: number) {
    const next = Math.min(this.count, sequence + Math.ceil(bytesMax / EVENT_BYTES));
    const records: LogRecord[] = [];
    for (let n = sequence; n < next; n++) records.push({ sequence: n, bytes: new Uint8Array(8) });
    return { records, next };
  }
  async trim(): Promise<void> {}
  parts = () => [{ first: 0, bytes: this.count * EVENT_BYTES }];
  async close(): Promise<void> {}
}

/** Takes all events, and measures the heap after each tenth of them. */
function watchingKind(taken: { count: number }, heap: number[]): DestinationKind {
  return {
    ...{ kind: "fake", configSchema: Type.Object({}), secretKeys: [], validate: () => [] },
    batchSize: () => 10,
    test: async () => [],
    concurrency: 1,
    open: () => ({
      async deliver(events) {
        // Slower than the events come, so that some always wait.
        await Bun.sleep(0);
        taken.count += events.length;
        if (taken.count >= ((heap.length + 1) * EVENTS) / 10) {
          Bun.gc(true);
          heap.push(process.memoryUsage().heapUsed);
        }
        return { kind: "delivered" };
      },
      close: async () => {},
    }),
  };
}

test(
  "a delivered backlog leaves none of its events in memory",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "backlog-"));
    const live = new FakeLive();
    live.addSource();
    live.putDestination("one", { type: "fake" });
    live.connect("one");
    const taken = { count: 0 };
    const heap: number[] = [];
    let made = 0;
    const logger = pino({ level: "silent" });
    const pipeline = createPipeline({
      ...{ live, sandbox: new FakeSandbox(), metrics: createMetrics() },
      decode: () => record(made++, `user ${made % 97}`),
      eventOf: (one) => ({ ...eventOf(one), json: Buffer.alloc(EVENT_BYTES, "x") }),
      readers: new Map([["0", new EndlessLog(EVENTS)]]),
      kinds: new Map([["fake", watchingKind(taken, heap)]]),
      ledger: openLedger(join(directory, "delivery"), logger),
      onDurable: () => () => {},
      retryWindowMs: 3_600_000,
      logger,
    });
    await until(() => taken.count >= EVENTS, "the backlog");
    await pipeline.close();
    rmSync(directory, { recursive: true });

    // The first tenths warm up; in the last ones no event waits any more.
    const [before, after] = [Math.min(...heap.slice(2, 4)), Math.min(...heap.slice(6, 8))];
    const perEvent = (after - before) / (EVENTS * 0.4);
    expect(perEvent).toBeLessThan(LEFT_BYTES_MAX);
    expect(taken.count).toBe(EVENTS);
  },
  120_000 + EVENTS,
);
