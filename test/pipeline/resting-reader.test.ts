import { expect, test } from "bun:test";
import type { Connection, Destination } from "../../src/catalog/model.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { RestingReader } from "../../src/pipeline/reading/resting-reader.ts";
import { FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

const live = new FakeLive();
live.putDestination("one");
live.connect("one", { 0: 4 }, { id: "c" });
const destination: Destination = live.destinations.get("one")!;
const connection: Connection = live.connections.get("c")!;

/** Logs with ten records. */
function tenRecords() {
  const log = new MemoryLog();
  log.append(...numbersTo(10).map((n) => record(n)));
  return { log, logs: feedOf(log) };
}

const cases: [string, LaneRecord | undefined, Connection[]][] = [
  ["never ran, and is connected from the log's middle on", undefined, [connection]],
  ["never ran, and is connected from the log's end on", undefined, [at(10)]],
  ["has no connections", undefined, []],
  ["is at the log's end", stored(10), [connection]],
  ["is behind the log's end", stored(9), [connection]],
  ["has a record without an outcome", stored(10, [3]), [connection]],
  ["is at the log's end, with a connection that it never read", stored(10), [at(5, "new")]],
  ["is at the log's end, with a new connection", stored(10), [connection, at(10, "new")]],
  ["is at the log's end, with a connection that is live again", stored(10), [at(7)]],
  ["is at the log's end, with a connection that was live at no time", stored(10), [paused(4)]],
  ["is above the end of a damaged log", stored(12), [connection]],
];

function at(from: number, id = "c"): Connection {
  return { ...connection, id, sourceId: id, from: { 0: from } };
}

function paused(at: number): Connection {
  return { ...connection, from: { 0: at }, until: { 0: at } };
}

function stored(next: number, pending: number[] = []): LaneRecord {
  return { logs: { 0: { next, pending } }, known: { c: { 0: 4 } } };
}

test.each(cases)(
  "a lane that %s rests and is not behind only when it would take no record",
  async (_, row, to) => {
    const { logs } = tenRecords();
    const resting = RestingReader.create(logs, to, row, () => undefined);
    const reader = new LaneReader(logs, createRoutes(destination, to), row);
    const isThrough = reader.lagEvents() === 0;
    expect(resting?.isBehind === false).toBe(isThrough);
    if (resting === undefined) return;
    expect(resting.record()).toEqual(reader.record());
    expect(resting.lagEvents()).toBe(reader.lagEvents());
    if (resting.isBehind) return;
    expect(resting.durableLow("0")).toBe(reader.durableLow("0")!);
    expect(await reader.take(10, 1e6)).toEqual([]);
  },
);

test("a resting reader passes announced records, and continues with what is on disk", async () => {
  const { log, logs } = tenRecords();
  const resting = RestingReader.create(logs, [connection], stored(10), () => 6)!;
  log.append(record(10), record(11));
  expect(resting.lagEvents()).toBe(2);
  logs.setAnnouncedEnd("0", 12);
  expect([resting.lagEvents(), resting.durableLow("0")]).toEqual([0, 6]);
  log.append(record(12));
  const reader = resting.wake(createRoutes(destination, [connection]));
  expect(reader.durableLow("0")).toBe(6);
  const [event] = await reader.take(10, 1e6);
  expect(event?.origin).toMatchObject({ sequence: 12 });
  resting.committed(resting.lows());
  expect(resting.durableLow("0")).toBe(12);
});

test("a log that appears while a lane rests is read from the connection's start, or where it was announced", () => {
  const [first, second] = [new MemoryLog("0"), new MemoryLog("1")];
  const readers = new Map([["0", first]]);
  const logs = feedOf(readers);
  const from = { ...connection, from: { 0: 0, 1: 2 } };
  const resting = RestingReader.create(logs, [from], undefined, () => undefined)!;
  second.append(...numbersTo(5).map((n) => record(n)));
  readers.set("1", second);
  expect(resting.isAtEnd()).toBe(false);
  expect([resting.lows().get("1"), resting.durableLow("1"), resting.lagEvents()]).toEqual([
    2, 2, 3,
  ]);
  logs.setAnnouncedEnd("1", 4);
  expect([resting.lows().get("1"), resting.durableLow("1"), resting.lagEvents()]).toEqual([
    4, 2, 1,
  ]);
});

test("a resting reader that is behind passes no record that a reader would take", async () => {
  const outcomes = { passed: 0, refused: 0 };
  const random = randomOf(7);
  const filled = numbersTo(20).map(() => {
    const log = new MemoryLog();
    const sourceIds = numbersTo(1 + random(12)).map(() => `source ${random(4)}`);
    log.append(...sourceIds.map((sourceId, n) => record(n, "ann", { sourceId })));
    return { log, logs: feedOf(log) };
  });
  for (let round = 0; round < 2_000; round++) {
    const { log, logs } = filled[round % filled.length]!;
    const connections = numbersTo(random(3)).map((n) => {
      const period = () => ({ from: { 0: random(14) }, until: { 0: random(14) } });
      const { from, until } = period();
      const own = random(2) === 0 ? { from, until } : { from };
      return { ...connection, id: `c${n}`, sourceId: `source ${n}`, earlier: [period()], ...own };
    });
    const known = Object.fromEntries(connections.map(({ id, from }) => [id, from]));
    const row = random(2) === 0 ? undefined : { ...stored(random(log.end())), known };
    const resting = RestingReader.create(logs, connections, row, () => undefined);
    const ends = new Map([["0", log.end()]]);
    const [event] = await new LaneReader(logs, createRoutes(destination, connections), row).take(
      ...[1, 1e6],
    );
    let at = resting?.nextBelow(ends);
    while (at !== undefined) {
      // Chunks may begin below the lane's position, and end anywhere.
      const next = Math.min(log.end(), at.sequence + 1 + random(4));
      const from = Math.max(0, at.sequence - random(3));
      const inputs = (await logs.read("0", 0))!.inputs.slice(from, next);
      const sources = new Set(inputs.map((input) => input.sourceId));
      if (!resting!.pass("0", { from, next, inputs, sources, newerAt: undefined })) break;
      at = resting!.nextBelow(ends);
    }
    outcomes[at === undefined ? "passed" : "refused"] += 1;
    const taken = event?.origin as { sequence: number } | undefined;
    expect(resting?.record().logs[0]?.next ?? 0).toBeLessThanOrEqual(taken?.sequence ?? 99);
    if (resting !== undefined) expect(resting.isBehind).toBe(at !== undefined);
  }
  expect(outcomes.passed).toBeGreaterThan(200);
  expect(outcomes.refused).toBeGreaterThan(200);
});

test("a lane at rest passes chunks from its position on that have no record for it", async () => {
  const { logs } = tenRecords();
  const another = { ...connection, sourceId: "another", from: { 0: 0 } };
  const resting = RestingReader.create(logs, [another], undefined, () => undefined)!;
  const ends = new Map([["0", 10]]);
  const { inputs } = (await logs.read("0", 0))!;
  const pass = (from: number, next: number, source = "source") =>
    resting.pass("0", {
      ...{ from, next, inputs: inputs.slice(from, next) },
      ...{ sources: new Set([source]), newerAt: undefined },
    });
  const place = (sequence: number) => ({ log: "0", sequence });
  expect([resting.isBehind, resting.oldestAt]).toEqual([true, undefined]);
  expect([pass(3, 5), resting.nextBelow(ends)]).toEqual([true, place(0)]);
  expect([pass(0, 4), resting.nextBelow(ends)]).toEqual([true, place(4)]);
  expect(resting.oldestAt).toBe(inputs[3]!.receivedAt);
  expect([resting.isAt("0", 4), resting.isAt("0", 3), resting.isAt("1", 4)]).toEqual([
    ...[true, false, false],
  ]);
  expect([pass(0, 4), pass(2, 6), resting.nextBelow(ends)]).toEqual([true, true, place(6)]);
  expect([pass(6, 8, "another"), resting.nextBelow(ends)]).toEqual([false, place(6)]);
  expect([resting.isAtEnd(), resting.lagEvents()]).toEqual([false, 4]);
  const gap = { from: 6, next: 9, inputs: [], sources: new Set<string>(), newerAt: undefined };
  expect([resting.pass("0", gap), resting.oldestAt]).toEqual([true, inputs[5]!.receivedAt]);
  // Records from the given end on are not looked at here.
  expect(resting.nextBelow(new Map([["0", 9]]))).toBeUndefined();
  expect([resting.isBehind, resting.oldestAt]).toEqual([false, undefined]);
  resting.committed(
    new Map([
      ["0", 5],
      ["unknown", 9],
    ]),
  );
  expect([resting.durableLow("0"), resting.durableLow("unknown")]).toEqual([5, undefined]);
});

test("a lane comes to rest when it has settled all that it has read", async () => {
  const { logs } = tenRecords();
  const reader = new LaneReader(logs, createRoutes(destination, [connection]), stored(8));
  const rest = () => RestingReader.after(reader, logs, [connection]);
  expect(rest()).toBeUndefined();
  const events = await reader.take(9, 1e6);
  expect([events.length, await reader.take(9, 1e6), rest()]).toEqual([2, [], undefined]);
  for (const sequence of [8, 9]) reader.settle("0", sequence);
  const resting = rest()!;
  expect(resting.record()).toEqual(reader.record());
  expect([resting.isBehind, resting.isAtEnd(), resting.oldestAt]).toEqual([false, true, undefined]);
  expect([resting.durableLow("0"), resting.lows().get("0")]).toEqual([8, 10]);
});

/** Returns a function that returns repeatable random numbers below its argument. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
