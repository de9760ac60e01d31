import { expect, test } from "bun:test";
import { uuidText } from "../../src/event/uuid.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { eventOutcomes } from "../../src/pipeline/search/event-outcomes.ts";
import type { FoundEvent } from "../../src/pipeline/search/search.ts";
import { eventOf, record } from "./doubles.ts";
import { Rig, until } from "./rig.ts";

test("a dead letter is the outcome of its own event, not of another with the same messageId", async () => {
  const rig = new Rig();
  const sink = rig.webhook("one");
  rig.live.addSource("other");
  rig.live.connect("one", {}, { sourceId: "other" });
  const pipeline = rig.start();
  sink.answer = ([event]) => new Response("", { status: event?.n === 0 ? 400 : 200 });
  const messageId = new Uint8Array(16).fill(7);
  const records = [
    record(0, "ann", { messageId, receivedAt: 1_000 }),
    record(1, "ann", { messageId, receivedAt: 2_000 }),
    record(2, "ann", { messageId, receivedAt: 1_000, sourceId: "other" }),
  ];
  rig.log.append(...records);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const found = records.map((it, sequence): FoundEvent => {
    const { sourceId, receivedAt } = it;
    const place = { log: "0", sequence, sourceId, receivedAt };
    return { ...place, messageId: uuidText(messageId), event: eventOf(it) };
  });
  const outcomes = await pipeline.outcomes("workspace", found);
  expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual([
    "dead-letter",
    "settled",
    "settled",
  ]);
  await rig.end();
});

test("a dead letter is the outcome of an event that another node received by a clock that is ahead", async () => {
  const rig = new Rig();
  const sink = rig.webhook("one");
  const pipeline = rig.start();
  sink.answer = () => new Response("", { status: 400 });
  const ahead = record(0, "ann", { receivedAt: Date.now() + 1_900 });
  rig.log.append(ahead);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const { sourceId, receivedAt, messageId } = ahead;
  const place = { log: "0", sequence: 0, sourceId, receivedAt };
  const found = { ...place, messageId: uuidText(messageId), event: eventOf(ahead) };
  expect(await pipeline.outcomes("workspace", [found])).toMatchObject([
    [{ outcome: "dead-letter" }],
  ]);
  await rig.end();
});

interface FakeLedger {
  /** Cursors of the log `0` by destination. */
  cursors?: Record<string, { next: number; pending: number[] }>;
  letters?: { id: string; destinationId: string; messageId: string }[];
  repetition?: [log: string, sequence: number];
}

/** Outcomes of one event, the 5th of the log `0`, at these connections of its source. */
async function outcomesOf(
  connections: object[],
  ledgers: FakeLedger[],
  more: Partial<FoundEvent> = {},
) {
  const event = {
    log: "0",
    sequence: 5,
    sourceId: "s",
    receivedAt: 10_000,
    messageId: "m",
    ...more,
  };
  const scans: unknown[] = [];
  const lanes = connections.map((it) => {
    const connection = { sourceId: "s", destinationId: "a", workspaceId: "w", from: {}, ...it };
    const { workspaceId, destinationId } = connection;
    return { destination: { id: destinationId, workspaceId }, connections: [connection] };
  });
  const all = ledgers.map(({ cursors = {}, letters = [], repetition }) => ({
    lane: (id: string) => cursors[id] && { logs: { "0": cursors[id] } },
    repetitions: {
      find: (log: string, sequence: number) =>
        repetition && log === "0" && sequence === 5 ? [5, ...repetition, 7_000] : undefined,
    },
    letters: {
      hasLetters: (id: string) => letters.some(({ destinationId }) => destinationId === id),
      scan(_: string, filter: { destinationId: string }, page: { count: number }) {
        scans.push([filter, page.count]);
        const own = letters.filter((it) => it.destinationId === filter.destinationId);
        const ids = own.slice(0, page.count).map(({ id }) => id);
        return { ids, seen: ids.length, reached: own.length > ids.length ? ids.at(-1) : undefined };
      },
      get(_: string, id: string) {
        const found = letters.find((it) => it.id === id);
        return found && { ...found, sourceId: "s", receivedAt: 10_000, reason: `Reason of ${id}` };
      },
    },
  }));
  const parts = { live: { lanes: () => lanes }, ledgers: () => all as unknown as Ledger[] };
  const [outcomes] = await eventOutcomes(parts as never, "w", [event as never]);
  return { outcomes: outcomes!, scans };
}

const passed = { cursors: { a: { next: 6, pending: [] } } };

test.each([
  ["settled", [passed]],
  ["in-flight", [{ cursors: { a: { next: 5, pending: [] } } }]],
  ["in-flight", [{ cursors: { a: { next: 9, pending: [4, 5] } } }]],
  ["in-flight", [{}]],
  ["settled", [{}, passed]],
] as [string, FakeLedger[]][])(
  "an event is %s where the cursor of its lane says so: %j",
  async (outcome, ledgers) => {
    const { outcomes } = await outcomesOf([{}], ledgers);
    expect(outcomes).toEqual([{ destinationId: "a", outcome: outcome as never }]);
  },
);

test.each([
  [{ from: { "0": 6 } }, "not-connected"],
  [{ from: { "0": 5 } }, "settled"],
])("an event has an outcome at a connection that was live: %j", async (connection, outcome) => {
  const { outcomes } = await outcomesOf([connection], [passed]);
  expect(outcomes.map((it) => it.outcome)).toEqual([outcome as never]);
});

test("a dead letter of any ledger tells its reason, also where the connection has ended", async () => {
  const letters = [{ id: "l", destinationId: "a", messageId: "m" }];
  const { outcomes, scans } = await outcomesOf([{ from: { "0": 6 } }], [{}, { letters }]);
  expect(outcomes).toEqual([
    { destinationId: "a", outcome: "dead-letter", deadLetterId: "l", reason: "Reason of l" },
  ]);
  expect(scans).toEqual([[{ destinationId: "a", from: 8_000 }, 1_000]]);
});

test("dead letters of one event are counted one by one towards those that a call searches", async () => {
  const letters = Array.from({ length: 1_000 }, (_, n) => {
    return { id: `l${n}`, destinationId: "a", messageId: "m" };
  });
  letters.push({ id: "b", destinationId: "b", messageId: "other" });
  const cursor = { next: 6, pending: [] };
  const ledger = { letters, cursors: { a: cursor, b: cursor } };
  const { outcomes, scans } = await outcomesOf([{}, { destinationId: "b" }], [ledger, { letters }]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["dead-letter", "unknown"]);
  expect(scans.map((scan) => (scan as unknown[])[1])).toEqual([1_000, 0, 0, 0]);
});

test("a repetition tells the time of the event before it, where the destination gets that one", async () => {
  const repeating: FakeLedger = { ...passed, repetition: ["1", 3] };
  const outcomeAt = async (from: object) =>
    (await outcomesOf([{ from }], [{}, repeating])).outcomes[0];
  expect(await outcomeAt({})).toEqual({
    ...{ destinationId: "a", outcome: "repeated" },
    reason: "The source had sent an event with this messageId at 1970-01-01T00:00:07.000Z",
  });
  expect(await outcomeAt({ "1": 4 })).toMatchObject({ outcome: "settled" });
  expect(await outcomeAt({ "0": 6 })).toMatchObject({ outcome: "not-connected" });
  const other = await outcomesOf([{}], [repeating], { sequence: 4 });
  expect(other.outcomes[0]).toMatchObject({ outcome: "settled" });
});

test("an event that was refused, or of another source or workspace, has no outcome", async () => {
  expect((await outcomesOf([{}], [passed], { refused: "No type" })).outcomes).toEqual([]);
  expect((await outcomesOf([{ sourceId: "t" }], [passed])).outcomes).toEqual([]);
  expect((await outcomesOf([{ workspaceId: "v" }], [passed])).outcomes).toEqual([]);
  expect(await eventOutcomes({} as never, "w", [])).toEqual([]);
});

test("beyond a thousand dead letters an outcome is unknown, also at further destinations", async () => {
  const many = Array.from({ length: 1_001 }, (_, n) => ({
    ...{ id: `l${n}`, destinationId: "a", messageId: `other ${n}` },
  }));
  const cursors = { a: { next: 6, pending: [] }, b: { next: 6, pending: [] } };
  const b = { id: "b", destinationId: "b", messageId: "of b" };
  const outcomesWith = async (letters: typeof many) => {
    const { outcomes, scans } = await outcomesOf(
      [{}, { destinationId: "b" }],
      [{ cursors, letters }],
    );
    const counts = (scans as [object, number][]).map(([, count]) => count);
    return [outcomes.map(({ outcome }) => outcome), counts];
  };
  expect(await outcomesWith([...many, b])).toEqual([
    ["unknown", "unknown"],
    [1_000, 0],
  ]);
  expect(await outcomesWith([...many.slice(2), b])).toEqual([
    ["settled", "settled"],
    [1_000, 1],
  ]);
  expect(await outcomesWith(many)).toEqual([["unknown", "settled"], [1_000]]);
});

test("the dead letters that are searched are counted over all ledgers", async () => {
  const some = (prefix: string) =>
    Array.from({ length: 600 }, (_, n) => ({
      ...{ id: `${prefix}${n}`, destinationId: "a", messageId: `${prefix} ${n}` },
    }));
  const ledgers = [{ ...passed, letters: some("x") }, { letters: some("y") }];
  const { outcomes, scans } = await outcomesOf([{}], ledgers);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["unknown"]);
  expect((scans as [object, number][]).map(([, count]) => count)).toEqual([1_000, 400]);
});

test("an event has the outcomes of a hundred destinations at most", async () => {
  const connections = Array.from({ length: 101 }, (_, n) => ({ destinationId: `d${n}` }));
  expect((await outcomesOf(connections, [{}])).outcomes).toHaveLength(100);
});

test("the outcomes of many events read the progress of a destination once", async () => {
  const ledger = {
    reads: 0,
    lane() {
      this.reads += 1;
      return { logs: { "0": { next: 6, pending: [5] } } };
    },
    repetitions: { find() {} },
    letters: { hasLetters: () => false },
  };
  const connections = [{ sourceId: "s", destinationId: "a", from: {} }];
  const lanes = [{ destination: { id: "a", workspaceId: "w" }, connections }];
  const events = Array.from({ length: 7 }, (_, sequence) => ({
    ...{ log: "0", sequence, sourceId: "s", receivedAt: 1, messageId: "m" },
  }));
  const parts = { live: { lanes: () => lanes }, ledgers: () => [ledger] };
  const outcomes = await eventOutcomes(parts as never, "w", events as never);
  expect(outcomes.flat().filter(({ outcome }) => outcome === "settled")).toHaveLength(5);
  expect(ledger.reads).toBe(1);
});

test("an event that becomes a dead letter during the search is not settled", async () => {
  let isDead = false;
  const ledger = {
    lane: () => ({ logs: { "0": { next: 6, pending: isDead ? [] : [5] } } }),
    repetitions: { find() {} },
    letters: {
      hasLetters: () => isDead,
      scan: () => ({ ids: ["l"], reached: undefined }),
      get: () => ({ id: "l", sourceId: "s", receivedAt: 1, messageId: "m", reason: "Refused" }),
    },
  };
  const connections = [{ sourceId: "s", destinationId: "a", from: {} }];
  const lanes = [{ destination: { id: "a", workspaceId: "w" }, connections }];
  const event = { log: "0", sequence: 5, sourceId: "s", receivedAt: 1, messageId: "m" };
  const parts = { live: { lanes: () => lanes }, ledgers: () => [ledger] };
  setImmediate(() => {
    isDead = true;
  });
  const [outcomes] = await eventOutcomes(parts as never, "w", [event as never]);
  expect(outcomes).toMatchObject([{ outcome: "in-flight" }]);
});
