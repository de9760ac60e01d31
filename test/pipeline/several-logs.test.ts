import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEnd } from "../../src/event/record.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

/** Several ingest processes with a log each: events acknowledged before an event stay before it. */

const live = new FakeLive();
live.addSource();
live.putDestination("one");
live.connect("one", {}, { id: "connection" });

function rig(logCount: number) {
  const logs = numbersTo(logCount).map((n) => new MemoryLog(String(n)));
  const sharedReader = feedOf(new Map(logs.map((log, index) => [String(index), log])));
  const [lane] = live.lanes();
  const reader = () =>
    new LaneReader(sharedReader, createRoutes(lane!.destination, lane!.connections), undefined);
  const endsBeside = (index: number): LogEnd[] =>
    logs
      .map((log, other) => ({ log: other, sequence: log.end() }))
      .filter((it) => it.log !== index);
  return { logs, reader, endsBeside };
}

const numberOf = (item: LaneEvent) => JSON.parse(Buffer.from(item.input.event.json).toString()).n;

test("consecutive events keep their order, whichever process receives each", async () => {
  const step = fc.record({
    log: fc.nat({ max: 3 }),
    // An event of another source, which the lane skips.
    isStranger: fc.boolean(),
    takes: fc.option(fc.integer({ min: 1, max: 9 }), { nil: 0 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { logs, reader, endsBeside } = rig(4);
      const lane = reader();
      const taken: number[] = [];
      const take = async (count: number) => {
        const items = await lane.take(count, 1e9);
        taken.push(...items.map(numberOf));
        return items.length;
      };
      for (const [n, { log, isStranger, takes }] of steps.entries()) {
        const sourceId = isStranger ? "stranger" : "source";
        logs[log]!.append(record(n, "ann", { sourceId, after: endsBeside(log) }));
        if (takes > 0) await take(takes);
      }
      while ((await take(5)) > 0);
      expect(taken).toEqual(numbersTo(steps.length).filter((n) => !steps[n]!.isStranger));
    }),
    { numRuns: 100 },
  );
}, 300_000);

test("a batch is filled from several logs", async () => {
  const { logs, reader, endsBeside } = rig(2);
  for (const n of numbersTo(100))
    logs[n % 2]!.append(record(n, "ann", { after: endsBeside(n % 2) }));
  const taken = (await reader().take(100, 1e9)).map(numberOf);
  expect(taken).toEqual(numbersTo(taken.length));
  expect(taken.length).toBeGreaterThan(90);
});

describe("wrong ends of other logs", () => {
  test("an end beyond a log's end counts as its end", async () => {
    const { logs, reader } = rig(2);
    logs[0]!.append(record(0, "ann", { after: [{ log: 1, sequence: 1_000 }] }));
    logs[0]!.append(record(1, "ann", { after: [{ log: 9, sequence: 1_000 }] }));
    expect((await reader().take(10, 1e9)).map(numberOf)).toEqual([0, 1]);
  });

  test("records of two logs that wait for each other are read in the end", async () => {
    const { logs, reader } = rig(2);
    for (const n of numbersTo(6)) {
      logs[n % 2]!.append(record(n, "ann", { after: [{ log: (n + 1) % 2, sequence: 3 }] }));
    }
    const lane = reader();
    const taken: number[] = [];
    for (;;) {
      const items = await lane.take(10, 1e9);
      if (items.length === 0) break;
      taken.push(...items.map(numberOf));
    }
    expect(taken.sort()).toEqual(numbersTo(6));
  });
});

test("events that were taken are not lost when another log cannot be read", async () => {
  const { logs, reader, endsBeside } = rig(2);
  logs[0]!.append(record(0));
  logs[1]!.append(record(1, "ann", { after: endsBeside(1) }));
  logs[0]!.append(record(2, "ann", { after: endsBeside(0) }));
  const { read } = logs[1]!;
  logs[1]!.read = () => Promise.reject(new Error("The disk failed"));
  const lane = reader();
  expect((await lane.take(10, 1e9)).map(numberOf)).toEqual([0]);
  await expect(lane.take(10, 1e9)).rejects.toThrow("The disk failed");
  logs[1]!.read = read;
  const rest: number[] = [];
  for (let items = await lane.take(10, 1e9); items.length > 0; items = await lane.take(10, 1e9)) {
    rest.push(...items.map(numberOf));
  }
  expect(rest).toEqual([1, 2]);
});
