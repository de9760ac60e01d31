import { expect, test } from "bun:test";
import { createDeadLetterRetention } from "../../src/pipeline/dead-letters/letter-retention.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { firstIdAt } from "../../src/pipeline/ledger/letter-keys.ts";

type Counts = Record<string, number>;

/** Letters of destinations in this ledger and in others, and a ledger that drops `lot` at a time. */
function setUp(
  counts: Counts,
  over: { others?: Counts[]; lot?: number; count?: number; ageMs?: number } = {},
) {
  const drops: unknown[] = [];
  const metrics: unknown[] = [];
  const lines: unknown[] = [];
  const state = { counts, onDrop: (): void => {} };
  const lettersOf = (of: () => Counts) => ({
    *counts() {
      for (const [destinationId, count] of Object.entries(of())) {
        yield { workspaceId: "w", destinationId, count };
      }
    },
    countOf: (_: string, { destinationId }: { destinationId: string }) => of()[destinationId] ?? 0,
  });
  const ledger = {
    letters: lettersOf(() => state.counts),
    async dropOldest(
      { destinationId }: { destinationId: string },
      { count, before }: { count: number; before?: string },
    ) {
      const lot = Math.min(count, over.lot ?? 10, state.counts[destinationId] ?? 0);
      drops.push([destinationId, count, before, lot]);
      state.counts = { ...state.counts, [destinationId]: state.counts[destinationId]! - lot };
      state.onDrop();
      await Bun.sleep(0);
      return lot;
    },
  } as unknown as Ledger;
  const others = (over.others ?? []).map((of) => ({ letters: lettersOf(() => of) }));
  const retention = createDeadLetterRetention({
    bounds: { countMax: over.count ?? 0, ageMsMax: over.ageMs ?? 0 },
    ledger,
    ledgers: () => [ledger, ...others] as Ledger[],
    clock: { age: (at) => 5_000_000 - at },
    logger: {
      warn: (fields: object, text: string) => lines.push([text, fields]),
      error: ({ err }: { err: Error }, text: string) => lines.push([text, err.message]),
    } as never,
    metrics: {
      deadLettersDropped: { inc: (...counted: unknown[]) => void metrics.push(counted) },
    } as never,
  });
  return { retention, drops, metrics, lines, state };
}

test("letters beyond the bound are dropped lot by lot, told once and counted once", async () => {
  const { retention, drops, metrics, lines, state } = setUp({ a: 35, b: 10 }, { count: 10 });
  await retention.run();
  expect(drops).toEqual([
    ["a", 25, undefined, 10],
    ["a", 15, undefined, 10],
    ["a", 5, undefined, 5],
  ]);
  expect(state.counts).toEqual({ a: 10, b: 10 });
  expect(metrics).toEqual([[{ workspace: "w", bound: "count" }, 25]]);
  const told = { destinationId: "a", dropped: 25, bound: "count" };
  expect(lines).toEqual([["dead letters dropped", told]]);
});

test("without bounds nothing is dropped", async () => {
  const { retention, drops, lines } = setUp({ a: 1_000 });
  await retention.run();
  expect([drops, lines]).toEqual([[], []]);
});

test("letters that are too old are dropped by their age, as many as the ledger has", async () => {
  const { retention, drops, metrics, lines } = setUp({ a: 3 }, { ageMs: 1_000_000, lot: 2 });
  await retention.run();
  const before = firstIdAt(4_000_000);
  expect(drops).toEqual([
    ["a", 3, before, 2],
    ["a", 1, before, 1],
  ]);
  expect(metrics).toEqual([[{ workspace: "w", bound: "age" }, 3]]);
  expect(lines).toHaveLength(1);
});

test("a destination without old letters is not logged", async () => {
  const { retention, drops, metrics, lines } = setUp({ a: 3 }, { ageMs: 1, lot: 0 });
  await retention.run();
  expect(drops).toHaveLength(1);
  expect([metrics, lines]).toEqual([[], []]);
});

test("a ledger drops its share of the letters that all ledgers have too many of", async () => {
  const cases: [title: string, own: number, others: number[], dropped: number][] = [
    ["alone", 50, [], 10],
    ["half", 50, [50], 30],
    ["rounded down", 10, [21, 20], 2],
    ["none", 20, [20], 0],
    ["one too many, shared", 21, [20], 0],
    ["none here", 0, [100], 0],
  ];
  for (const [title, own, others, dropped] of cases) {
    const over = { others: others.map((a) => ({ a })), count: 40, lot: 1_000 };
    const { retention, state } = setUp({ a: own }, over);
    await retention.run();
    expect([title, own - state.counts.a!]).toEqual([title, dropped]);
  }
});

test("a sweep that is asked for during another one is the same sweep", async () => {
  const { retention, drops } = setUp({ a: 12 }, { count: 10 });
  const [one, other] = [retention.run(), retention.run()];
  expect(other).toBe(one);
  await one;
  expect(drops).toHaveLength(1);
  const later = retention.run();
  expect(later).not.toBe(one);
  await later;
  expect(drops).toHaveLength(1);
});

test("a stop waits for the lot that is being dropped, and lets no other begin", async () => {
  const { retention, drops, state, lines } = setUp({ a: 100, b: 100 }, { count: 10 });
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  state.onDrop = () => {
    if (drops.length === 2) resolve(retention.stop());
  };
  void retention.run();
  await stopped;
  expect(drops).toEqual([
    ["a", 90, undefined, 10],
    ["a", 80, undefined, 10],
  ]);
  expect(lines).toHaveLength(1);
  await retention.run();
  expect(drops).toHaveLength(2);
});

test("a sweep that fails is logged, and the next one begins again", async () => {
  const { retention, drops, state, lines } = setUp({ a: 12 }, { count: 10 });
  state.onDrop = () => {
    throw new Error("Closed");
  };
  await retention.run();
  expect(lines).toEqual([["cannot drop dead letters", "Closed"]]);
  state.onDrop = () => {};
  state.counts = { a: 13 };
  await retention.run();
  expect(drops).toHaveLength(2);
  expect(state.counts).toEqual({ a: 10 });
});
