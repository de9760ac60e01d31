import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { holds } from "../until.ts";
import { record } from "./doubles.ts";
import { numbersTo, Rig, sorted, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(300_000);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

const users = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ivy", "jon"];

describe("batches", () => {
  test("every event reaches every destination, each user's in order", async () => {
    const sinks = [rig.webhook("one"), rig.webhook("many", undefined, { batchSize: 100 })];
    rig.start();
    for (const n of numbersTo(1_000)) rig.log.append(record(n, users[n % users.length]));
    for (const sink of sinks) {
      await until(() => sink.taken.length >= 1_000);
      expect(sorted(sink.numbers())).toEqual(numbersTo(1_000));
      for (const user of users) {
        const own = sink.taken.filter((e) => e.anonymousId === user).map(({ n }) => n);
        expect(own).toEqual(sorted(own));
      }
    }
    expect(sinks[1]!.requests).toBeLessThan(1_000);
  });

  test("a batch whose outputs are too large runs in parts, and loses no event", async () => {
    const sink = rig.webhook("one", undefined, { batchSize: 100 });
    rig.sandbox.codes.set("twice", (event) => [event, event]);
    rig.live.publish("one", "twice", "version");
    rig.sandbox.outcomesMax = 7;
    rig.log.append(...numbersTo(300).map((n) => record(n, users[n % users.length])));
    rig.start();
    await until(() => sink.taken.length >= 600);
    expect(sorted(sink.numbers())).toEqual(numbersTo(300).flatMap((n) => [n, n]));
    for (const user of users) {
      const own = sink.taken.filter((e) => e.anonymousId === user).map(({ n }) => n);
      expect(own).toEqual(sorted(own));
    }
  });

  test("a slow destination delays no other", async () => {
    let release = () => {};
    const blocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = rig.webhook("slow", () => blocked.then(() => new Response("ok")));
    const quick = rig.webhook("quick");
    rig.start();
    rig.log.append(...numbersTo(500).map((n) => record(n, users[n % users.length])));
    await until(() => quick.taken.length === 500);
    expect(slow.taken).toEqual([]);
    release();
    await until(() => slow.taken.length === 500);
  });

  test("only events of connected sources from the connection's start on are sent", async () => {
    const sink = rig.webhook("one");
    rig.live.addSource("other");
    const id = [...rig.live.connections.keys()][0]!;
    rig.live.change(id, { from: { "0": 5 } });
    rig.log.append(...numbersTo(8).map((n) => record(n)));
    rig.log.append(record(8, "ann", { sourceId: "other" }), record(9));
    rig.start();
    await until(() => sink.taken.length >= 4);
    expect(sink.numbers()).toEqual([5, 6, 7, 9]);
  });

  test("a batch runs beside a slow one and does not overtake it", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("code", (event) => event);
    rig.live.publish("one", "code", "v1");
    const first = Promise.withResolvers<void>();
    rig.sandbox.held.push(first.promise);
    rig.log.append(...numbersTo(350).map((n) => record(n, users[n % users.length])));
    rig.start();
    await until(() => rig.sandbox.batches.length === 2);
    await holds(50, () => {
      expect(rig.sandbox.batches.map(({ events }) => events)).toEqual([100, 100]);
      expect(sink.taken).toEqual([]);
    });
    first.resolve();
    await until(() => sink.taken.length === 350);
    for (const user of users) {
      const own = sink.taken.filter((e) => e.anonymousId === user).map(({ n }) => n);
      expect(own).toEqual(sorted(own));
    }
  });

  test("code replaces, expands, drops and fails events", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("code", (event) => {
      if (event.n === 1) return null;
      if (event.n === 2)
        return [
          { ...event, part: "a" },
          { ...event, part: "b" },
        ];
      if (event.n === 3) throw new Error("boom");
      return { ...event, seen: true };
    });
    rig.live.publish("one", "code", "v1");
    const { deadLetters } = rig.start();
    rig.log.append(...numbersTo(5).map((n) => record(n)));
    await until(() => sink.taken.length === 4 && deadLetters.count("workspace") === 1);
    expect(sink.taken.map(({ n, part }) => [n, part])).toEqual([
      [0, undefined],
      [2, "a"],
      [2, "b"],
      [4, undefined],
    ]);
    const [letter] = deadLetters.find("workspace", { count: 10 }).letters;
    expect(letter).toMatchObject({ stage: "transform", reason: "Error: boom", line: 3, column: 7 });
    expect(letter).toMatchObject({ transformationVersionId: "v1", event: { n: 3 } });
  });

  test("a published revision is used from the next batch on", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("first", (event) => ({ ...event, by: "first" }));
    rig.sandbox.codes.set("second", (event) => ({ ...event, by: "second" }));
    rig.live.publish("one", "first", "v1");
    rig.start();
    rig.log.append(record(0));
    await until(() => sink.taken.length === 1);
    rig.live.publish("one", "second", "v2");
    rig.log.append(record(1));
    await until(() => sink.taken.length === 2);
    expect(sink.taken.map(({ by }) => by)).toEqual(["first", "second"]);
  });

  test("a lane waits for an unavailable sandbox, and loses no event", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("code", (event) => event);
    rig.live.publish("one", "code", "v1");
    rig.sandbox.failure = new SandboxUnavailable("No guest");
    const { deadLetters } = rig.start();
    rig.log.append(...numbersTo(10).map((n) => record(n)));
    await holds(50, () => expect(sink.taken).toEqual([]));
    rig.sandbox.failure = undefined;
    await until(() => sink.taken.length === 10);
    expect(deadLetters.count("workspace")).toBe(0);
  });
});
