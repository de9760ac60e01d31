import { describe, expect, test } from "bun:test";
import { setLive } from "../../src/catalog/management/live-windows.ts";
import type { Connection } from "../../src/catalog/model.ts";
import { eventOf as builtEvent } from "../../src/event/event.ts";
import { type EventRecord, readRecord } from "../../src/event/record.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { KEPT_READS_MAX, SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import { quiet } from "../log/support.ts";
import { eventOf, FakeLive, feedOf, laneMetrics, MemoryLog, record } from "./doubles.ts";
import { sdkRecord } from "./repetitions-rig.ts";
import { numbersTo } from "./rig.ts";

const live = new FakeLive();
live.addSource();
live.putDestination("one");
live.connect("one", {}, { id: "connection" });

function rig(count: number, build = eventOf) {
  const log = new MemoryLog();
  let reads = 0;
  const { read } = log;
  log.read = (sequence, bytesMax) => {
    reads += 1;
    return read.call(log, sequence, bytesMax);
  };
  log.append(...numbersTo(count).map((n) => record(n)));
  const logs = feedOf(log, build);
  const [lane] = live.lanes();
  const reader = () =>
    new LaneReader(logs, createRoutes(lane!.destination, lane!.connections), undefined);
  return { log, logs, reader, reads: () => reads };
}

const numbers = (items: { input: { event: { json: Uint8Array } } }[]) =>
  items.map(({ input }) => JSON.parse(Buffer.from(input.event.json).toString()).n);

/** Takes all there is, and settles it. */
async function drain(reader: LaneReader): Promise<number[]> {
  const taken: number[] = [];
  for (;;) {
    const items = await reader.take(7, 1e9);
    if (items.length === 0) return taken;
    taken.push(...numbers(items));
    for (const { origin } of items) {
      if ("sequence" in origin) reader.settle(origin.log, origin.sequence);
    }
  }
}

describe("re-enabled connection below the cursor", () => {
  /** Ten events it got, ten of a pause, ten of it again; the lane read all before it knew. */
  async function late() {
    const { log, logs } = rig(30);
    const { destination, connections } = live.lanes()[0]!;
    const first: Connection = { ...connections[0]!, from: { "0": 0 } };
    const paused = setLive(first, false, { "0": 10 });
    const again = setLive(paused, true, { "0": 20 });
    const routes = (connection: Connection) => createRoutes(destination, [connection]);
    const reader = new LaneReader(logs, routes(first), undefined);
    reader.setRoutes(routes(paused));
    await drain(reader);
    return { log, logs, reader, again, routes };
  }

  test("a re-enabled connection gets its events once, also over a restart", async () => {
    const { logs, reader, again, routes } = await late();
    reader.setRoutes(routes(again));
    const stored = reader.record();
    expect(await drain(reader)).toEqual(numbersTo(30).slice(20));
    expect(await drain(new LaneReader(logs, routes(again), stored))).toEqual(
      numbersTo(30).slice(20),
    );
    expect(await drain(new LaneReader(logs, routes(again), reader.record()))).toEqual([]);
  });

  test("a connection that is paused and enabled twice gets all its events", async () => {
    const { logs, reader, again, routes } = await late();
    reader.setRoutes(routes(again));
    const stored = reader.record();
    const once = setLive(setLive(again, false, { "0": 24 }), true, { "0": 27 });
    const owed = [20, 21, 22, 23, 27, 28, 29];
    reader.setRoutes(routes(once));
    expect(await drain(new LaneReader(logs, routes(once), stored))).toEqual(owed);
    expect(await drain(new LaneReader(logs, routes(once), reader.record()))).toEqual(owed);
    expect(await drain(reader)).toEqual(owed);
  });

  test.each([{ "0": 0 }, undefined])(
    "a connection that is paused and re-enabled without an event in between gets its events once (earlier: %p)",
    async (earlier) => {
      const { logs, reader, again, routes } = await late();
      const resumed = earlier ? again : { ...again, earlier: [] };
      const paused = setLive(resumed, false, { "0": 20 });
      const stale = new LaneReader(logs, routes(paused), earlier && reader.record());
      await drain(stale);
      const stored = stale.record();
      const live = setLive(paused, true, { "0": 20 });
      const owed = numbersTo(30).slice(20);
      expect(await drain(new LaneReader(logs, routes(live), stored))).toEqual(owed);
      stale.setRoutes(routes(live));
      expect(await drain(stale)).toEqual(owed);
      expect(await drain(new LaneReader(logs, routes(live), stale.record()))).toEqual([]);
    },
  );

  test("a connection that is re-enabled during a read gets its events", async () => {
    const { log, reader, again, routes } = await late();
    const reading = Promise.withResolvers<void>();
    const mayRead = Promise.withResolvers<void>();
    const { read } = log;
    log.read = async (sequence, bytesMax) => {
      reading.resolve();
      await mayRead.promise;
      return read.call(log, sequence, bytesMax);
    };
    log.append(
      ...numbersTo(35)
        .slice(30)
        .map((n) => record(n)),
    );
    const taking = reader.take(100, 1e9);
    await reading.promise;
    reader.setRoutes(routes(again));
    mayRead.resolve();
    const taken = numbers(await taking);
    expect([...taken, ...(await drain(reader))]).toEqual(numbersTo(35).slice(20));
  });
});

describe("shared reads", () => {
  test("lanes at the same position share one read and its events", async () => {
    const { reader, reads } = rig(100);
    const lanes = numbersTo(50).map(() => reader());
    const taken = await Promise.all(lanes.map((lane) => lane.take(100, 1e9)));
    expect(reads()).toBe(1);
    for (const items of taken) expect(numbers(items)).toEqual(numbersTo(100));
    expect(taken[0]![0]!.input.event).toBe(taken[49]![0]!.input.event);
  });

  test("a lane that is behind reads each record once, whatever other lanes read", async () => {
    const { reader, logs, reads } = rig(5_000);
    const lane = reader();
    const taken: number[] = [];
    for (let n = 0; n < 5; n++) {
      taken.push(...numbers(await lane.take(100, 1e9)));
      // Enough other places to push its own out of what the reader keeps.
      for (let i = 1; i <= KEPT_READS_MAX; i++) await logs.read("0", 500 * i);
    }
    expect(taken).toEqual(numbersTo(500));
    expect(reads()).toBe(1 + KEPT_READS_MAX);
  });

  test("large events are not all cached, and are equal when built again", async () => {
    const text = "x".repeat(1_000);
    let built = 0;
    const large = (one: EventRecord) => {
      built += 1;
      const event = eventOf(one);
      return { ...event, json: Buffer.concat([event.json, Buffer.alloc(1_000 * 1_000, text)]) };
    };
    const { reader } = rig(40, large);
    const items = await reader().take(100, 1e9);
    expect(items.length).toBe(40);
    const [first, last] = [items[0]!.input, items[39]!.input];
    const event = last.event;
    expect(built).toBe(40);
    const before = first.event;
    expect(built).toBe(41);
    expect(last.event).toBe(event);
    for (const { input } of items) expect(input.event.json.length).toBeGreaterThan(1_000_000);
    expect(built).toBeGreaterThan(70);
    expect(first.event).not.toBe(before);
    expect(first.event).toEqual(before);
  });

  test("the event cache counts records that are larger than their events", async () => {
    let built = 0;
    const small = (one: EventRecord) => {
      built += 1;
      return { ...eventOf(one), json: Buffer.from("{}") };
    };
    const { log, reader } = rig(0, small);
    log.append(...numbersTo(40).map((n) => ({ ...record(n), query: "x".repeat(1 << 20) })));
    const items: LaneEvent[] = [];
    for (const lane = reader(); items.length < 40; ) items.push(...(await lane.take(100, 1e9)));
    expect(built).toBe(40);
    expect(items[0]!.input.event.json.length).toBe(2);
    expect(built).toBe(41);
  });

  test("a failed read loses no event", async () => {
    const { reader, log } = rig(1_200);
    const lane = reader();
    const { read } = log;
    const taken: number[] = [];
    for (let n = 0; n < 40; n++) {
      log.read = n % 2 === 0 ? () => Promise.reject(new Error("EIO")) : read;
      taken.push(...numbers(await lane.take(70, 1e9).catch(() => [])));
    }
    expect(taken).toEqual(numbersTo(1_200));
  });

  test("bytes bound a batch, which has at least one event", async () => {
    const { reader } = rig(10);
    const lane = reader();
    expect(numbers(await lane.take(100, 1))).toEqual([0]);
    const [event] = await lane.take(1, 1e9);
    const { length } = event!.input.event.json;
    expect(numbers(await lane.take(100, 2 * length))).toEqual([2, 3]);
    expect(numbers(await lane.take(100, 2 * length + 1))).toEqual([4, 5, 6]);
  });

  test("a batch has no more events than are asked for", async () => {
    const lane = rig(10).reader();
    expect(numbers(await lane.take(1, 1e9))).toEqual([0]);
    expect(numbers(await lane.take(4, 1e9))).toEqual([1, 2, 3, 4]);
    expect(numbers(await lane.take(100, 1e9))).toEqual([5, 6, 7, 8, 9]);
  });
});

describe("a lane's reader", () => {
  const { destination, connections } = live.lanes()[0]!;
  const routes = createRoutes(destination, connections);
  const known = { connection: {} };
  const settle = (lane: LaneReader, items: readonly LaneEvent[]) => {
    for (const { origin } of items) if ("sequence" in origin) lane.settle("0", origin.sequence);
  };

  test("has settled when it has read all and each event has an outcome, until it is woken", async () => {
    const lane = rig(3).reader();
    expect([lane.isSettled, lane.lagEvents(), lane.oldestAt]).toEqual([false, 3, undefined]);
    const items = await lane.take(2, 1e9);
    expect(lane.lagEvents()).toBe(3);
    settle(lane, items.splice(0, 1));
    expect(lane.lagEvents()).toBe(2);
    items.push(...(await lane.take(9, 1e9)));
    expect(await lane.take(9, 1e9)).toEqual([]);
    expect(lane.isSettled).toBe(false);
    settle(lane, items);
    expect([lane.isSettled, lane.lagEvents()]).toEqual([true, 0]);
    lane.wake();
    expect(lane.isSettled).toBe(false);
  });

  test("keeps the records from its stored position on, and positions of logs that are gone", async () => {
    const { logs } = rig(3);
    const gone = { next: 7, pending: [3] };
    const stored = { logs: { "0": { next: 1, pending: [] }, gone }, known };
    const lane = new LaneReader(logs, routes, stored);
    const items = await lane.take(9, 1e9);
    expect([lane.durableLow("0"), lane.durableLow("gone")]).toEqual([1, undefined]);
    settle(lane, items.slice(0, 1));
    expect([...lane.lows()]).toEqual([["0", 2]]);
    expect(lane.record()).toEqual({ logs: { "0": { next: 3, pending: [2] }, gone }, known });
    lane.committed(new Map([...lane.lows(), ["gone", 9]]));
    expect([lane.durableLow("0"), lane.durableLow("gone")]).toEqual([2, undefined]);
  });

  test("passes announced records while it is idle, and reads them once it is woken", async () => {
    const { log, logs, reader } = rig(1);
    const lane = reader();
    const next = () => lane.record().logs["0"]?.next;
    settle(lane, await lane.take(9, 1e9));
    log.append(record(1));
    logs.setAnnouncedEnd("0", 2);
    expect([next(), lane.lagEvents()]).toEqual([1, 1]);
    logs.setAnnouncedEnd("0", 0);
    settle(lane, await lane.take(9, 1e9));
    expect(await lane.take(9, 1e9)).toEqual([]);
    log.append(record(2));
    logs.setAnnouncedEnd("0", 3);
    expect([next(), lane.lagEvents()]).toEqual([3, 0]);
    log.append(record(3));
    lane.wake();
    logs.setAnnouncedEnd("0", 4);
    expect(next()).toBe(3);
    expect(numbers(await lane.take(9, 1e9))).toEqual([3]);
  });

  test("takes only the events of an interrupted delivery until its recovery ends", async () => {
    const { logs } = rig(6);
    const stored = { logs: { "0": { next: 5, pending: [1, 3, 4] } }, known };
    const intent = { name: "interrupted", ends: { "0": 4 } };
    const lane = new LaneReader(logs, routes, stored, intent);
    expect(lane.recovering).toBe(intent);
    expect(numbers(await lane.take(9, 1e9))).toEqual([1, 3]);
    expect(await lane.take(9, 1e9)).toEqual([]);
    lane.endRecovery();
    expect(lane.recovering).toBeUndefined();
    expect(numbers(await lane.take(9, 1e9))).toEqual([4, 5]);
    // A delivery of dead letters alone has no events of the log.
    const letters = { name: "interrupted", ends: {}, letter: "a" };
    expect(await new LaneReader(logs, routes, stored, letters).take(9, 1e9)).toEqual([]);
  });

  test("stops at a record of a newer version, and has settled what stands before it", async () => {
    const log = new MemoryLog();
    const newer = Buffer.from(sdkRecord(1, "b"));
    newer[0] = 5;
    log.appendBytes(sdkRecord(0, "a"), newer);
    const readers = new Map([["0", log]]);
    const parts = { readers, decode: readRecord, eventOf: builtEvent, logger: quiet };
    const logs = new SharedReader({ ...parts, metrics: laneMetrics() }).subset(readers);
    const lane = new LaneReader(logs, routes, undefined);
    expect(numbers(await lane.take(9, 1e9))).toEqual([0]);
    expect(await lane.take(9, 1e9)).toEqual([]);
    expect([[...lane.held], lane.oldestAt]).toEqual([[["0", 1_000_001]], 1_000_001]);
    expect(lane.isSettled).toBe(false);
    lane.settle("0", 0);
    expect([lane.isSettled, lane.lagEvents()]).toEqual([true, 1]);
  });

  test("takes events of several logs in turns", async () => {
    const all = new Map(["0", "1", "2"].map((name) => [name, new MemoryLog(name)]));
    for (const [name, log] of all) log.append(record(Number(name)), record(10 + Number(name)));
    const lane = new LaneReader(feedOf(all), routes, undefined);
    const taken: number[] = [];
    for (let n = 0; n < 6; n++) taken.push(...numbers(await lane.take(1, 1e9)));
    expect(taken).toEqual([0, 1, 2, 10, 11, 12]);
  });
});
