import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { InvariantError } from "../../src/assert.ts";
import { Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { Cursor } from "../../src/pipeline/reading/cursor.ts";
import { LatestOutcomes } from "../../src/pipeline/recent/latest-outcomes.ts";
import { commitChange, feedOf, MemoryLog, record } from "./doubles.ts";
import { numbersTo, Rig, sorted, until } from "./rig.ts";

describe("broken invariants of a lane", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = new Rig();
  });
  afterEach(() => rig.end());

  test("a broken invariant stops its lane for good, is logged once and shown; the other lanes go on", async () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const [broken, good] = [rig.webhook("broken"), rig.webhook("good")];
    rig.sandbox.codes.set("same", (event) => event);
    rig.live.publish("broken", "same", "v1");
    const run = rig.sandbox.run.bind(rig.sandbox);
    let runs = 0;
    rig.sandbox.run = async (program, batch) => {
      const outcomes = await run(program, batch);
      runs += 1;
      return [...outcomes, { events: [] }];
    };
    rig.start({ logger: pino({ level: "error" }, { write }) });
    rig.log.append(...numbersTo(5).map((n) => record(n)));
    await until(() => good.taken.length === 5 && lines.length > 0);
    rig.log.append(record(5));
    await until(() => good.taken.length === 6);
    expect(broken.requests).toBe(0);
    expect(runs).toBe(1);
    const invariant = "Broken invariant: A batch has no more outcomes than events";
    expect(
      lines.map(({ msg, destination, invariant }) => ({ msg, destination, invariant })),
    ).toEqual([{ msg: "lane stopped", destination: "broken", invariant }]);
    expect(rig.pipeline.status("broken")?.failure?.reason).toBe(invariant);
    expect(rig.pipeline.status("good")?.failure).toBeUndefined();
  });

  test("an error while outputs are passed on stops the lane, is shown, and loses no event", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("none", () => null).set("same", (event) => event);
    rig.live.publish("one", "none", "v1");
    const add = spyOn(LatestOutcomes.prototype, "add").mockImplementation(() => {
      throw new TypeError("No outcome");
    });
    rig.start();
    rig.log.append(...numbersTo(3).map((n) => record(n)));
    await until(() => rig.pipeline.status("one")?.failure?.reason === "No outcome");
    await rig.stop();
    add.mockRestore();
    rig.live.publish("one", "same", "v2");
    rig.start();
    await until(() => sink.taken.length === 3);
  });

  test("a lane that a broken invariant stopped keeps its events in the log for the next start", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("same", (event) => event);
    rig.live.publish("one", "same", "v1");
    const run = rig.sandbox.run.bind(rig.sandbox);
    rig.sandbox.run = async (program, batch) => [...(await run(program, batch)), { events: [] }];
    rig.start();
    rig.log.append(...numbersTo(5).map((n) => record(n)));
    await until(() => rig.pipeline.status("one")?.failure !== undefined);
    await rig.stop();
    rig.sandbox.run = run;
    rig.start();
    await until(() => sink.taken.length === 5);
    expect(sorted(sink.numbers())).toEqual(numbersTo(5));
  });

  test("a lane that a broken invariant stopped stores no outcomes", async () => {
    rig.webhook("one");
    rig.sandbox.codes.set("same", (event) => event);
    rig.live.publish("one", "same", "v1");
    const run = rig.sandbox.run.bind(rig.sandbox);
    rig.sandbox.run = async (program, batch) => [...(await run(program, batch)), { events: [] }];
    const isStopped = () => rig.pipeline.status("one")?.failure !== undefined;
    rig.start();
    let stored = 0;
    const { schedule } = Ledger.prototype;
    using _spy = spyOn(Ledger.prototype, "schedule").mockImplementation(function (
      this: Ledger,
      source,
    ) {
      if (isStopped()) stored++;
      schedule.call(this, source);
    });
    rig.log.append(record(0));
    await until(isStopped);
    await rig.stop();
    expect(stored).toBe(0);
  });
});

describe("broken invariants of a ledger", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "invariants-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test("a ledger stops the lane of a dead letter without its cursor, and writes the changes of others", async () => {
    const ledger = openLedger(directory, pino({ level: "silent" }));
    const letter = {
      id: Bun.randomUUIDv7("hex", 1),
      workspaceId: "w",
      destinationId: "d",
      sourceId: "s",
      messageId: "m",
      text: "{}",
      stage: "deliver",
      reason: "Answered 500",
      attempts: 1,
      user: "u",
      type: "track",
      receivedAt: 0,
      createdAt: 0,
    } as const;
    const record = { logs: { "0": { next: 1, pending: [] } }, known: {} };
    const broken = { destinationId: "e", record, deadLetters: [letter], settledRequeued: [] };
    await expect(commitChange(ledger, broken)).rejects.toThrow(InvariantError);
    expect(ledger.lane("e")).toBeUndefined();
    await commitChange(ledger, { ...broken, destinationId: "d" });
    expect(ledger.lane("d")).toEqual(record);
    expect(ledger.letters.countOf("w")).toBe(1);
    await ledger.close();
  });

  test("a ledger is claimed at most once by a node", async () => {
    const ledger = openLedger(directory, pino({ level: "silent" }));
    const listener = { onLost() {}, onReplaysChanged() {} };
    await ledger.claim("node", listener);
    await expect(ledger.claim("node", listener)).rejects.toThrow(InvariantError);
    await ledger.close();
  });
});

describe("broken invariants of reading", () => {
  /** A log of three records whose reads are changed. */
  function logReading(change: (log: MemoryLog) => void): MemoryLog {
    const log = new MemoryLog();
    log.append(...numbersTo(3).map((n) => record(n)));
    change(log);
    return log;
  }

  test("a read returns no records whose sequence numbers descend", async () => {
    const log = logReading((log) => {
      const read = log.read.bind(log);
      log.read = async (sequence, bytesMax) => {
        const { records, next } = await read(sequence, bytesMax);
        return { records: records.toReversed(), next };
      };
    });
    await expect(feedOf(log).read("0", 0)).rejects.toThrow("Sequence numbers of records ascend");
  });

  test("a read returns no records at or after the durable end", async () => {
    const log = logReading((log) => {
      log.end = () => 2;
    });
    await expect(feedOf(log).read("0", 0)).rejects.toThrow("A record that is read is durable");
  });

  test("a log announces no end after its durable end", () => {
    const log = logReading(() => {});
    const feed = feedOf(log);
    feed.setAnnouncedEnd("0", 3);
    expect(() => feed.setAnnouncedEnd("0", 4)).toThrow(InvariantError);
  });

  test("a cursor does not descend", () => {
    const cursor = new Cursor({ next: 5, pending: [] });
    expect(() => cursor.advanceTo(4)).toThrow(InvariantError);
  });
});

test("a cursor accepts no stored pending record at or after its end", () => {
  expect(() => new Cursor({ next: 5, pending: [5] })).toThrow(InvariantError);
});

test("a cursor records no pending record at or after its end", () => {
  const cursor = new Cursor({ next: 0, pending: [] });
  cursor.take(3);
  cursor.advanceTo(2);
  expect(() => cursor.record()).toThrow(InvariantError);
});
