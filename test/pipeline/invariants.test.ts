import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { InvariantError } from "../../src/assert.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { Cursor } from "../../src/pipeline/reading/cursor.ts";
import { commitChange, record } from "./doubles.ts";
import { numbersTo, Rig, sorted, until } from "./rig.ts";

describe("a broken invariant", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = new Rig();
  });
  afterEach(() => rig.end());

  test("stops its lane for good, is logged once and shown; the other lanes go on", async () => {
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

  test("keeps the events of its lane in the log for the next start", async () => {
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
});

describe("a ledger", () => {
  const directory = mkdtempSync(join(tmpdir(), "invariants-"));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test("stops the lane of a dead letter without its cursor, and writes the changes of others", async () => {
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
});

test("a cursor accepts no stored pending records at or after its end", () => {
  expect(() => new Cursor({ next: 5, pending: [5] })).toThrow(InvariantError);
});

test("a cursor takes no record twice while it is pending", () => {
  const cursor = new Cursor({ next: 0, pending: [] });
  cursor.take(3);
  cursor.advanceTo(2);
  expect(() => cursor.record()).toThrow(InvariantError);
});
