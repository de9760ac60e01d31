import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TailMessage } from "../../src/pipeline/live-tail.ts";
import { record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { numbersTo, Rig, Sink, sorted, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(300_000);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

const connectionOf = (destinationId: string) =>
  [...rig.live.connections.values()].find((c) => c.destinationId === destinationId)!.id;
const reasons = () =>
  rig.pipeline.deadLetters.find("workspace", { count: 1_000 }).letters.map(({ reason }) => reason);
const down = () => new Response("", { status: 503 });

describe("restart", () => {
  test("a clean restart repeats no event", async () => {
    const sink = rig.webhook("one");
    for (const round of [0, 1, 2]) {
      rig.start();
      for (const n of numbersTo(300)) rig.log.append(record(round * 300 + n, `user ${n % 7}`));
      await until(() => sink.taken.length >= (round + 1) * 200);
      await rig.stop();
    }
    rig.start();
    await until(() => sink.taken.length >= 900);
    expect(sorted(sink.numbers())).toEqual(numbersTo(900));
  });

  test("events that wait for a retry are sent after a restart, and no others", async () => {
    const sink = rig.webhook("one", ([event]) => (event!.anonymousId === "bad" ? down() : ok()));
    rig.start();
    const user = (n: number) => (n % 50 === 0 ? "bad" : `user ${n % 7}`);
    for (const n of numbersTo(1_000)) rig.log.append(record(n, user(n)));
    const good = numbersTo(1_000).filter((n) => n % 50 !== 0);
    // Users that share the bad one's queue wait behind it.
    await until(() => sink.taken.length > 500);
    await rig.stop();
    const before = sink.taken.length;
    sink.answer = ok;
    rig.start();
    await until(() => sink.taken.length >= 1_000);
    expect(sorted(sink.numbers())).toEqual(numbersTo(1_000));
    expect(before).toBeLessThanOrEqual(good.length);
    const bad = sink.taken.filter((e) => e.anonymousId === "bad").map(({ n }) => n);
    expect(bad).toEqual(sorted(bad));
  });

  test("a stop does not wait for running user code, whose events are repeated", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("code", (event) => event);
    rig.live.publish("one", "code", "v1");
    rig.sandbox.held.push(new Promise(() => {}));
    rig.start();
    rig.log.append(...numbersTo(10).map((n) => record(n, `user ${n}`)));
    await until(() => rig.sandbox.batches.length > 0);
    await rig.stop();
    expect(sink.taken).toEqual([]);
    rig.start();
    await until(() => sink.taken.length >= 10);
    expect(sorted(sink.numbers())).toEqual(numbersTo(10));
    expect(reasons()).toEqual([]);
  });
});

const ok = () => new Response("ok");

describe("disabling", () => {
  test("a disabled destination gets no more events, and its pending ones become dead letters", async () => {
    const sink = rig.webhook("one", down);
    rig.start({ clock: hurried(10) });
    rig.log.append(...numbersTo(40).map((n) => record(n, `user ${n}`)));
    await until(() => sink.requests > 3);
    rig.live.change(connectionOf("one"), { until: { "0": 40 } });
    rig.live.putDestination("one", { enabled: false });
    rig.log.append(record(40));
    await until(() => reasons().length === 40);
    const requests = sink.requests;
    expect(new Set(reasons())).toEqual(new Set(["Destination is disabled"]));
    sink.answer = ok;
    rig.live.reopen(connectionOf("one"), { "0": 41 });
    rig.live.putDestination("one", { enabled: true });
    rig.log.append(record(41));
    await until(() => sink.taken.length === 1);
    expect(sink.numbers()).toEqual([41]);
    expect(sink.requests).toBe(requests + 1);
  });

  test("a disabled connection is owed the events from before it was disabled", async () => {
    const sink = rig.webhook("one", down);
    rig.start({ clock: hurried(10) });
    rig.log.append(...numbersTo(5).map((n) => record(n, `user ${n}`)));
    await until(() => sink.requests > 0);
    rig.live.change(connectionOf("one"), { enabled: false, until: { "0": 5 } });
    rig.log.append(record(5));
    await until(() => reasons().length === 5);
    expect(new Set(reasons())).toEqual(new Set(["Connection is disabled"]));
  });

  test("a paused and resumed connection gets the events from before the pause", async () => {
    const sink = rig.webhook("one");
    const id = connectionOf("one");
    rig.log.append(...numbersTo(10).map((n) => record(n)));
    rig.live.change(id, { from: { "0": 8 }, earlier: [{ from: { "0": 2 }, until: { "0": 5 } }] });
    rig.start();
    await until(() => sink.taken.length === 5);
    expect(sink.numbers()).toEqual([2, 3, 4, 8, 9]);
  });

  test("the lane, cursor and dead letters of a deleted destination are removed", async () => {
    const sink = rig.webhook("one", () => new Response("", { status: 400 }));
    const { deadLetters } = rig.start();
    rig.log.append(record(0), record(1));
    await until(() => reasons().length === 2);
    sink.answer = down;
    rig.log.append(record(2));
    await until(() => sink.requests >= 3);
    rig.live.remove("one");
    await until(() => deadLetters.count("workspace") === 0);
    expect(deadLetters.find("workspace", { count: 10 }).letters).toEqual([]);
    await rig.stop();
    // The id is never used again; here it shows that the cursor is gone too.
    sink.answer = ok;
    rig.live.putDestination("one", { config: { webhookUrl: sink.url } });
    rig.live.connect("one");
    rig.start();
    await until(() => sink.taken.length === 3);
  });
});

describe("changed settings", () => {
  test("a changed config is used from the next delivery on", async () => {
    const first = rig.webhook("one");
    const second = new Sink();
    rig.sinks.push(second);
    rig.start();
    rig.log.append(record(0));
    await until(() => first.taken.length === 1);
    rig.live.putDestination("one", { config: { webhookUrl: second.url } });
    rig.log.append(record(1));
    await until(() => second.taken.length === 1);
    expect(first.numbers()).toEqual([0]);
  });

  test("a batch that waits for a retry is split when its destination's batch size becomes one", async () => {
    const sink = rig.webhook("one", down, { batchSize: 50 });
    rig.start();
    rig.log.append(...numbersTo(20).map((n) => record(n)));
    await until(() => sink.requests > 0);
    sink.answer = ok;
    rig.live.putDestination("one", { config: { webhookUrl: sink.url, batchSize: 1 } });
    await until(() => sink.taken.length >= 20);
    expect(sink.numbers()).toEqual(numbersTo(20));
  });

  test("a late connection gets its events from its start on once, and the others repeat none", async () => {
    const sink = rig.webhook("one");
    rig.live.addSource("other");
    rig.start();
    const source = (n: number) => ({ sourceId: n % 2 === 0 ? "source" : "other" });
    rig.log.append(...numbersTo(100).map((n) => record(n, "ann", source(n))));
    await until(() => sink.taken.length === 50);
    // Its request saw the log end at 61; the lane has read on since.
    rig.live.connect("one", { "0": 61 }, { sourceId: "other" });
    await until(() => sink.taken.length === 70);
    rig.log.append(record(100), record(101, "ann", source(101)));
    await until(() => sink.taken.length === 72);
    await rig.stop();
    rig.start();
    rig.log.append(record(102));
    await until(() => sink.taken.length === 73);
    const others = numbersTo(102).filter((n) => n % 2 === 1 && n >= 61);
    const own = numbersTo(103).filter((n) => n % 2 === 0);
    expect(sorted(sink.numbers())).toEqual(sorted([...own, ...others]));
  });

  test("a log that is added is read", async () => {
    const sink = rig.webhook("one");
    const readers = new Map([["0", rig.log]]);
    rig.start({ readers });
    rig.log.append(record(0));
    await until(() => sink.taken.length === 1);
    const { MemoryLog } = await import("./doubles.ts");
    const second = new MemoryLog("1");
    second.append(record(1), record(2));
    readers.set("1", second);
    rig.log.append(record(3));
    await until(() => sink.taken.length === 4);
    expect(sorted(sink.numbers())).toEqual([0, 1, 2, 3]);
    expect(await rig.pipeline.logEnds()).toEqual({ "0": 2, "1": 2 });
  });
});

describe("file destination", () => {
  test("a file destination writes events as lines", async () => {
    rig.live.putDestination("disk", { type: "file", config: { path: "out/events.jsonl" } });
    rig.live.connect("disk");
    rig.start();
    rig.log.append(...numbersTo(500).map((n) => record(n, `user ${n % 9}`)));
    const path = join(rig.directory, "workspace/out/events.jsonl");
    const lines = () => {
      try {
        return readFileSync(path, "utf8").trimEnd().split("\n");
      } catch {
        return [];
      }
    };
    await until(() => lines().length === 500);
    expect(lines().map((line) => JSON.parse(line).n)).toEqual(numbersTo(500));
  });
});

describe("live tail", () => {
  test("the live tail shows received events and their outcomes of its own workspace only", async () => {
    rig.webhook("one", ([event]) => new Response("", { status: event!.n === 2 ? 400 : 200 }));
    rig.sandbox.codes.set("code", (event) => (event.n === 1 ? null : event));
    rig.live.publish("one", "code", "v1");
    rig.live.addSource("foreign", "elsewhere");
    const { liveTail } = rig.start();
    rig.log.append(record(99));
    await until(() => rig.pipeline.deadLetters.count("workspace") === 0);
    const seen: TailMessage[] = [];
    const stop = liveTail.subscribe("workspace", (message) => seen.push(message));
    liveTail.subscribe("workspace", () => {
      throw new Error("A subscriber's own fault");
    });
    rig.log.append(record(5, "ann", { sourceId: "foreign" }));
    for (const n of numbersTo(3)) rig.log.append(record(n));
    await until(() => seen.filter(({ stage }) => stage === "received").length >= 3);
    await until(
      () =>
        seen.filter(({ stage, event }) => stage !== "received" && nOf(event) !== 99).length >= 3,
    );
    stop();
    rig.log.append(record(3));
    await Bun.sleep(30);
    const own = seen.filter(({ event }) => nOf(event) !== 99);
    expect(own.filter((m) => m.stage === "received").map((m) => nOf(m.event))).toEqual([0, 1, 2]);
    const ends = own
      .filter((m) => m.stage !== "received")
      .sort((a, b) => nOf(a.event) - nOf(b.event));
    expect(ends.map(({ stage }) => stage)).toEqual(["delivered", "dropped", "dead-letter"]);
    expect(ends[2]).toMatchObject({ reason: "HTTP 400 from receiver", destinationId: "one" });
  });
});

describe("metadata", () => {
  test("user code gets an event's source and destination as metadata", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("code", (_, metadata) => ({ n: 0, metadata }));
    rig.live.publish("one", "code", "v1");
    rig.start();
    rig.log.append(record(0, "ann", { receivedAt: 1_700_000_000_000 }));
    await until(() => sink.taken.length === 1);
    expect(sink.taken[0]!.metadata).toEqual({
      ...{ sourceId: "source", sourceName: "Source source", sourceType: "http" },
      ...{ workspaceId: "workspace", destinationId: "one", destinationName: "To one" },
      ...{ destinationType: "webhook", messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      // MD5 of ":ann", with the bits of a version 4 UUID.
      rudderId: "c2cf255f-0f81-4f81-bbcb-b12bb4737791",
      ...{ receivedAt: "2023-11-14T22:13:20.000Z", eventName: "seen", eventType: "track" },
      ...{ transformationId: "transformation", transformationVersionId: "v1" },
    });
  });
});

function nOf(event: unknown): number {
  return (event as { n: number }).n;
}
