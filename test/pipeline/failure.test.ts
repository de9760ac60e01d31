import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { pino } from "pino";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf, numbersTo, Rig, sorted, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(300_000);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

const refuse = (status: number) => () => new Response("no", { status });

describe("failed attempts", () => {
  test("a rejected event becomes a dead letter at once", async () => {
    const sink = rig.webhook(
      "one",
      ([event]) => new Response("", { status: event!.n === 1 ? 400 : 200 }),
    );
    const { deadLetters } = rig.start();
    rig.log.append(...numbersTo(3).map((n) => record(n)));
    await until(() => deadLetters.count("workspace") === 1 && sink.taken.length === 2);
    expect(sink.requests).toBe(3);
    const [letter] = deadLetters.find("workspace", { count: 10 }).letters;
    expect(letter).toMatchObject({
      ...{ stage: "deliver", reason: "HTTP 400 from receiver", attempts: 1 },
      ...{ sourceId: "source", destinationId: "one", event: { n: 1, anonymousId: "ann" } },
    });
    expect(deadLetters.get("workspace", letter!.id)).toEqual(letter!);
    expect(deadLetters.get("elsewhere", letter!.id)).toBeUndefined();
    expect(deadLetters.find("elsewhere", { count: 10 }).letters).toEqual([]);
  });

  test("only the wrong event of a rejected batch is given up, and order is kept", async () => {
    const sink = rig.webhook(
      "one",
      (events) => new Response("", { status: events.some(({ n }) => n === 7) ? 422 : 200 }),
      { batchSize: 20 },
    );
    const { deadLetters } = rig.start();
    rig.log.append(...numbersTo(20).map((n) => record(n)));
    await until(() => deadLetters.count("workspace") === 1 && sink.taken.length === 19);
    expect(sink.numbers()).toEqual(numbersTo(20).filter((n) => n !== 7));
  });

  test("a failing destination is retried until it works", async () => {
    let failures = 0;
    const sink = rig.webhook("one", () => new Response("", { status: failures++ < 5 ? 503 : 200 }));
    const { deadLetters } = rig.start({ clock: hurried(100), retryWindowMs: 1e12 });
    rig.log.append(...numbersTo(3).map((n) => record(n)));
    await until(() => sink.taken.length === 3);
    expect(sink.numbers()).toEqual([0, 1, 2]);
    expect(deadLetters.count("workspace")).toBe(0);
  });

  test("an event that alone keeps failing is given up, and blocks no other user", async () => {
    const sink = rig.webhook(
      "one",
      ([event]) => new Response("", { status: event!.n === 0 ? 500 : 200 }),
    );
    // Not the window ends it: a machine that is slow makes few attempts in 3.6 s.
    const { deadLetters } = rig.start({ clock: hurried(1_000), retryWindowMs: 1e12 });
    rig.log.append(record(0, "poison"), record(1, "poison"));
    let n = 2;
    await until(() => {
      rig.log.append(record(n++, `user ${n}`));
      return deadLetters.count("workspace") === 1;
    });
    await until(() => sink.taken.length === n - 1);
    const [letter] = deadLetters.find("workspace", { count: 1 }).letters;
    expect(letter).toMatchObject({ event: { n: 0 }, reason: "HTTP 500 from receiver" });
    expect(letter!.attempts).toBeGreaterThanOrEqual(8);
  });

  test("an event that makes its receiver fail does not fail the others of its request", async () => {
    const sink = rig.webhook(
      "one",
      (events) => new Response("", { status: events.some(({ n }) => n === 7) ? 500 : 200 }),
      { batchSize: 20 },
    );
    const { deadLetters } = rig.start({ clock: hurried(1_000), retryWindowMs: 1e12 });
    rig.log.append(...numbersTo(20).map((n) => record(n)));
    let n = 20;
    await until(() => {
      rig.log.append(record(n++, `user ${n}`));
      return deadLetters.count("workspace") > 0;
    });
    await until(() => sink.taken.length + deadLetters.count("workspace") === n);
    expect(lettersOf(rig.pipeline).map(({ event }) => event)).toMatchObject([{ n: 7 }]);
    expect(sorted(sink.numbers())).toEqual(numbersTo(n).filter((it) => it !== 7));
  });

  test("events older than the retry window of a dead destination are given up, later ones are not", async () => {
    const clock = hurried(1_000);
    const sink = rig.webhook("one", refuse(500));
    const { deadLetters } = rig.start({ clock, retryWindowMs: 60_000 });
    const receivedAt = clock.now() - 120_000;
    rig.log.append(...numbersTo(300).map((n) => record(n, `user ${n}`, { receivedAt })));
    await until(() => deadLetters.count("workspace") === 300);
    // The events whose attempt failed decide for the others: the log must not wait for each.
    expect(sink.requests).toBeGreaterThanOrEqual(1);
    sink.answer = () => new Response("ok");
    // It is young for as long as a slow machine may take.
    rig.log.append(record(300, "ann", { receivedAt: clock.now() + 1e9 }));
    await until(() => sink.taken.length === 1);
    expect(sink.numbers()).toEqual([300]);
  });

  test("the length of an outage is stored, so that the next process continues it", async () => {
    const sink = rig.webhook("one", refuse(503));
    const over = { clock: hurried(1_000), retryWindowMs: 1e9 };
    rig.start(over);
    rig.log.append(record(0));
    await until(() => sink.requests >= 4);
    await rig.stop();
    const ledger = openLedger(join(rig.directory, "delivery"), pino({ level: "silent" }));
    const { outageMs = 0 } = ledger.lane("one")!;
    expect(outageMs).toBeGreaterThan(0);
    const requests = sink.requests;
    rig.start({ ...over, ledger });
    await until(() => sink.requests >= requests + 4);
    await rig.stop();
    const after = openLedger(join(rig.directory, "delivery"), pino({ level: "silent" }));
    expect(after.lane("one")!.outageMs).toBeGreaterThan(outageMs);
    sink.answer = () => new Response("ok");
    rig.start({ ...over, ledger: after });
    await until(() => sink.taken.length === 1);
    await rig.stop();
    const last = openLedger(join(rig.directory, "delivery"), pino({ level: "silent" }));
    expect(last.lane("one")!.outageMs).toBeUndefined();
    await last.close();
  });

  test("events past the retry window are sent after a long stop, although one of them always fails", async () => {
    const clock = hurried(1_000);
    const sink = rig.webhook(
      "one",
      ([event]) => new Response("", { status: event!.anonymousId === "poison" ? 500 : 200 }),
    );
    const receivedAt = clock.now() - 7_200_000;
    for (const n of numbersTo(2_000)) {
      const user = n % 100 === 0 ? "poison" : `user ${n % 50}`;
      rig.log.append(record(n, user, { receivedAt }));
    }
    const { deadLetters } = rig.start({ clock });
    await until(() => sink.taken.length + deadLetters.count("workspace") === 2_000);
    expect(deadLetters.count("workspace")).toBe(20);
    expect(sink.taken.length).toBe(1_980);
  });

  test("a Retry-After header delays the next attempt", async () => {
    const at: number[] = [];
    rig.webhook("one", () => {
      at.push(performance.now());
      return new Response("", {
        status: at.length === 1 ? 429 : 200,
        headers: { "retry-after": "1" },
      });
    });
    rig.start();
    rig.log.append(record(0));
    await until(() => at.length === 2);
    expect(at[1]! - at[0]!).toBeGreaterThan(950);
  });
});

describe("dead letters", () => {
  test("a replayed dead letter sends its output unchanged while the code is the same", async () => {
    let status = 400;
    const sink = rig.webhook("one", () => new Response("", { status }));
    rig.sandbox.codes.set("code", (event) => ({ ...event, n: event.n + 100 }));
    rig.live.publish("one", "code", "v1");
    const { deadLetters } = rig.start();
    rig.log.append(...numbersTo(3).map((n) => record(n)));
    await until(() => deadLetters.count("workspace") === 3);
    status = 200;
    const ids = deadLetters.find("workspace", { count: 10 }).letters.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    expect(await deadLetters.replay("elsewhere", ids)).toEqual({ replayed: 0 });
    expect(await deadLetters.replay("workspace", [...ids, "unknown"])).toEqual({ replayed: 3 });
    await until(() => sink.taken.length === 3);
    expect(sink.numbers()).toEqual([100, 101, 102]);
    expect(deadLetters.count("workspace")).toBe(0);
  });

  test("live events go on, and none is lost, while dead letters cannot be read for replays", async () => {
    let status = 400;
    const sink = rig.webhook("one", () => new Response("", { status }));
    const ledger = openLedger(join(rig.directory, "delivery"), pino({ level: "silent" }));
    const { deadLetters } = rig.start({ ledger });
    rig.log.append(record(0));
    await until(() => deadLetters.count("workspace") === 1);
    status = 200;
    let isBroken = true;
    let refused = 0;
    const { requeued } = ledger;
    const oldest = requeued.oldest.bind(requeued);
    requeued.oldest = (...asked) => {
      if (!isBroken) return oldest(...asked);
      refused += 1;
      throw new Error("The ledger is being opened again");
    };
    await deadLetters.replay(
      "workspace",
      lettersOf(rig.pipeline).map(({ id }) => id),
    );
    await until(() => refused > 0);
    rig.log.append(...[1, 2, 3].map((n) => record(n)));
    await until(() => sink.taken.length === 3);
    isBroken = false;
    await until(() => sink.taken.length === 4);
    expect(sink.numbers()).toEqual([1, 2, 3, 0]);
  });

  test("a replayed dead letter runs the new code over the received event", async () => {
    const sink = rig.webhook("one", ([e]) => new Response("", { status: e!.bad ? 400 : 200 }));
    rig.sandbox.codes.set("bad", (event) => [
      { ...event, bad: 1 },
      { ...event, bad: 2 },
    ]);
    rig.sandbox.codes.set("good", (event) => ({ ...event, good: true }));
    rig.live.publish("one", "bad", "v1");
    const { deadLetters } = rig.start();
    rig.log.append(record(0));
    await until(() => deadLetters.count("workspace") === 2);
    rig.live.publish("one", "good", "v2");
    const ids = deadLetters.find("workspace", { count: 10 }).letters.map(({ id }) => id);
    await deadLetters.replay("workspace", ids);
    await until(() => sink.taken.length > 0);
    await rig.stop();
    expect(sink.taken).toEqual([expect.objectContaining({ n: 0, good: true })]);
    expect(sink.taken[0]).not.toHaveProperty("bad");
  });

  test("a replay that fails again makes a dead letter again, and purged letters are gone", async () => {
    rig.webhook("one", refuse(400));
    const { deadLetters } = rig.start();
    rig.log.append(record(0), record(1));
    await until(() => deadLetters.count("workspace") === 2);
    const before = deadLetters.find("workspace", { count: 10 }).letters.map(({ id }) => id);
    await deadLetters.replay("workspace", before);
    await until(() => deadLetters.count("workspace") === 2);
    const after = deadLetters.find("workspace", { count: 10 }).letters;
    expect(after.map(({ event }) => event)).toMatchObject([{ n: 0 }, { n: 1 }]);
    expect(await deadLetters.purge("workspace", [after[0]!.id])).toEqual({ purged: 1 });
    expect(deadLetters.find("workspace", { count: 10 }).letters).toEqual([after[1]!]);
  });

  test("a restart keeps replays, dead letters and their count", async () => {
    const sink = rig.webhook("one", refuse(400));
    let { deadLetters } = rig.start();
    rig.log.append(record(0), record(1));
    await until(() => deadLetters.count("workspace") === 2);
    const [first] = deadLetters.find("workspace", { destinationId: "one", count: 1 }).letters;
    sink.answer = refuse(503);
    await deadLetters.replay("workspace", [first!.id]);
    await rig.stop();
    sink.answer = () => new Response("ok");
    ({ deadLetters } = rig.start());
    await until(() => sink.taken.length === 1);
    expect(sink.numbers()).toEqual([0]);
    expect(deadLetters.count("workspace")).toBe(1);
    expect(deadLetters.count("workspace", { destinationId: "one" })).toBe(1);
    expect(deadLetters.count("workspace", { destinationId: "two" })).toBe(0);
    expect(deadLetters.count("another", { destinationId: "one" })).toBe(0);
    const after = deadLetters.find("workspace", { destinationId: "one", count: 10 }).letters;
    expect(after).toMatchObject([{ event: { n: 1 } }]);
    expect(sorted(sink.numbers())).toEqual([0]);
  });
});
