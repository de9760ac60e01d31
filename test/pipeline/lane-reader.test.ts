import { describe, expect, test } from "bun:test";
import { setLive } from "../../src/catalog/management/live-windows.ts";
import type { Connection } from "../../src/catalog/model.ts";
import type { EventRecord } from "../../src/event/record.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { KEPT_READS_MAX } from "../../src/pipeline/reading/shared-reader.ts";
import { eventOf, FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
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
