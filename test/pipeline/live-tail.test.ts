import { expect, test } from "bun:test";
import { eventOf as builtEvent } from "../../src/event/event.ts";
import { type PixelRecord, readRecord } from "../../src/event/record.ts";
import { LiveTail, type TailMessage } from "../../src/pipeline/live-tail.ts";
import { createOutput, type EventOutcome } from "../../src/pipeline/model/lane-event.ts";
import { SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import { eventOf, FakeLive, feedOf, laneEvent, laneMetrics, MemoryLog, record } from "./doubles.ts";
import { logger, sdkRecord } from "./repetitions-rig.ts";
import { numbersTo } from "./rig.ts";

test("a subscriber that joins during a read for one that left sees no older events", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const liveTail = new LiveTail(feedOf(log), live);
  const leave = liveTail.subscribe("workspace", () => {});
  // The first read, of 500 records, is in progress when the log is a thousand long.
  log.append(...numbersTo(1_000).map((n) => record(n)));
  const reading = liveTail.advance();
  leave();
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push(event));
  await reading;
  expect(seen).toEqual([]);
  log.append(record(1_000));
  await liveTail.advance();
  expect(seen.length).toBe(1);
});

test("events beside one that cannot be built are shown", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const feed = feedOf(log, (it) => {
    if ((it as PixelRecord).query.includes("n=1")) throw new Error("no event");
    return eventOf(it);
  });
  const liveTail = new LiveTail(feed, live);
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push((event as { n: number }).n));
  log.append(...numbersTo(3).map((n) => record(n)));
  await liveTail.advance();
  expect(seen).toEqual([0, 2]);
});

test("records of several reads are all shown", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const liveTail = new LiveTail(feedOf(log), live);
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push((event as { n: number }).n));
  log.append(...numbersTo(1_200).map((n) => record(n)));
  await liveTail.advance();
  expect(seen).toEqual(numbersTo(1_200));
});

test("a tail goes on at the end of the log where it meets a record of a newer version", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const parts = { decode: readRecord, eventOf: builtEvent, logger, metrics: laneMetrics() };
  const readers = new Map([["0", log]]);
  const reader = new SharedReader({ readers, ...parts }).subset(readers);
  const liveTail = new LiveTail(reader, live);
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push((event as { n: number }).n));
  const newer = Buffer.from(sdkRecord(2, "c"));
  newer[0] = 250;
  log.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "b"), newer, sdkRecord(3, "d"));
  await liveTail.advance();
  expect(seen).toEqual([0, 1]);
  log.appendBytes(sdkRecord(4, "e"));
  await liveTail.advance();
  expect(seen).toEqual([0, 1, 4]);
});

/** A tail of two logs and two workspaces, and what it has sent to whom. */
function setUp() {
  const logs = new Map(["0", "1"].map((name) => [name, new MemoryLog(name)]));
  const live = new FakeLive();
  live.addSource();
  live.addSource("second", "other workspace");
  const tail = new LiveTail(feedOf(logs), live, undefined, ["headers"]);
  const seen: string[] = [];
  const watch = (workspaceId: string, name = workspaceId) =>
    tail.subscribe(workspaceId, ({ stage, event }) => {
      seen.push(`${name}: ${stage} ${(event as { n: number }).n}`);
    });
  return { tail, seen, watch, first: logs.get("0")!, second: logs.get("1")!, logs };
}

test("a viewer sees the received events of a workspace's sources, in all logs, from then on", async () => {
  const { tail, seen, watch, first, second } = setUp();
  first.append(record(0));
  await tail.advance();
  const messages: TailMessage[] = [];
  const leave = watch("workspace");
  tail.subscribe("workspace", (message) => messages.push(message));
  first.append(record(1, "ann", { receivedAt: 7 }), record(2, "ann", { sourceId: "second" }));
  second.append(record(3, "ann", { sourceId: "unknown" }), record(4));
  await tail.advance();
  await tail.advance();
  expect(seen).toEqual(["workspace: received 1", "workspace: received 4"]);
  expect(messages[0]).toEqual({
    ...{ stage: "received", sourceId: "source", at: 7, receivedAt: 7 },
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    event: { type: "track", event: "seen", anonymousId: "ann", n: 1 },
  });
  leave();
  first.append(record(5));
  await tail.advance();
  expect([seen.length, messages.length]).toEqual([2, 3]);
});

test("a workspace has a viewer as long as one of its subscriptions lasts", async () => {
  const { tail, seen, watch, first } = setUp();
  expect(tail.hasSubscriber("workspace")).toBe(false);
  const [one, two] = [watch("workspace", "one"), watch("workspace", "two")];
  expect([tail.hasSubscriber("workspace"), tail.hasSubscriber("other workspace")]).toEqual([
    ...[true, false],
  ]);
  one();
  one();
  first.append(record(1));
  await tail.advance();
  expect(seen).toEqual(["two: received 1"]);
  two();
  expect(tail.hasSubscriber("workspace")).toBe(false);
  // One that ends after all others have left ends no later one.
  const three = watch("workspace", "three");
  two();
  expect(tail.hasSubscriber("workspace")).toBe(true);
  three();
});

test("events that arrive without a viewer are not shown to a later viewer", async () => {
  const { tail, seen, watch, first } = setUp();
  watch("workspace")();
  first.append(record(1));
  await tail.advance();
  watch("workspace");
  first.append(record(2));
  await tail.advance();
  expect(seen).toEqual(["workspace: received 2"]);
});

test("records that come during a read are read by it, and a failed read is made again", async () => {
  const { tail, seen, watch, first } = setUp();
  watch("workspace");
  const { read } = first;
  let reads = 0;
  first.read = async (...args) => {
    reads += 1;
    if (reads === 1) {
      first.append(record(2));
      await tail.advance();
      expect(seen).toEqual([]);
    }
    return read.apply(first, args);
  };
  first.append(record(1));
  await tail.advance();
  expect(seen).toEqual(["workspace: received 1", "workspace: received 2"]);
  first.read = () => Promise.reject(new Error("EIO"));
  first.append(record(3));
  await expect(tail.advance()).rejects.toThrow("EIO");
  first.read = read;
  await tail.advance();
  expect(seen).toHaveLength(3);
});

test("a log that comes later is read from its end then", async () => {
  const { tail, seen, watch, logs } = setUp();
  watch("workspace");
  const third = new MemoryLog("2");
  third.append(record(1));
  logs.set("2", third);
  await tail.advance();
  third.append(record(2));
  await tail.advance();
  expect(seen).toEqual(["workspace: received 2"]);
});

test("a viewer that fails stops no other", () => {
  const { tail, seen, watch } = setUp();
  tail.subscribe("workspace", () => {
    throw new Error("A fault");
  });
  watch("workspace");
  const message = { stage: "received", sourceId: "s", at: 1, messageId: "m" } as const;
  tail.publish("workspace", { ...message, event: { n: 1 } });
  tail.publish("other workspace", { ...message, event: { n: 2 } });
  expect(seen).toEqual(["workspace: received 1"]);
});

test("outcomes are shown with the event as it was sent, and those of code without what shapes requests", () => {
  const { tail } = setUp();
  const messages: TailMessage[] = [];
  const destination = { id: "d", workspaceId: "workspace" } as never;
  const sent = '{"headers":{"a":"secret"},"n":1}';
  const outputs = [undefined, {} as never].map((live) =>
    createOutput(laneEvent(), Buffer.from(sent), live),
  );
  const publish = (outcome: Exclude<EventOutcome, { kind: "discarded" }>) =>
    tail.publishOutcomes(outputs, outcome, destination, 9);
  publish({ kind: "delivered" });
  tail.subscribe("workspace", (message) => messages.push(message));
  publish({ kind: "delivered" });
  const common = { sourceId: "source", destinationId: "d", at: 9, receivedAt: 0, messageId: "m" };
  expect(messages.splice(0)).toEqual([
    { stage: "delivered", ...common, event: { headers: { a: "secret" }, n: 1 } },
    { stage: "delivered", ...common, event: { n: 1 } },
  ]);
  const response = { status: 400 };
  publish({ kind: "dead-letter", stage: "deliver", reason: "HTTP 400", response });
  expect(messages.splice(0)[1]).toEqual({
    ...{ stage: "dead-letter", ...common, event: { n: 1 }, reason: "HTTP 400", response },
  });
  publish({ kind: "dead-letter", stage: "transform", reason: "Error", response: undefined });
  expect(messages[0]).not.toHaveProperty("response");
});
