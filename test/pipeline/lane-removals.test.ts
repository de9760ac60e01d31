import { expect, test } from "bun:test";
import { pino } from "pino";
import { LaneRemovals, type LaneRemovalsParts } from "../../src/pipeline/lane-removals.ts";
import { until } from "../until.ts";

interface Given {
  isDeleted?: boolean;
  isKept?: boolean;
  catalogCurrent?: () => Promise<void>;
  remove?: () => Promise<number>;
}

function setup({ isDeleted = true, isKept = false, ...given }: Given = {}) {
  const calls: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const parts = {
    ledger: {
      async remove(id: string, withLetters: boolean) {
        calls.push(`remove ${id} ${withLetters}`);
        return (await given.remove?.()) ?? 7;
      },
    },
    live: { destination: () => (isDeleted ? undefined : {}) },
    logger: pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) }),
    metrics: { histories: { forget: (id: string) => calls.push(`forget ${id}`) } },
    ...(given.catalogCurrent && { catalogCurrent: given.catalogCurrent }),
  };
  const removals = new LaneRemovals(parts as unknown as LaneRemovalsParts, () => isKept);
  return { removals, calls, lines };
}

const ended = (removals: LaneRemovals) => until(() => removals.isEmpty);

test.each([
  ["deleted: its dead letters and its counts go too", true, ["remove d true", "forget d"]],
  ["disconnected: its dead letters and its counts stay", false, ["remove d false"]],
])(
  "the progress of a lane is removed when its destination is %s",
  async (_, isDeleted, expected) => {
    const { removals, calls, lines } = setup({ isDeleted });
    removals.begin("d", Promise.resolve(3));
    expect([removals.isRunning("d"), removals.isRunning("e"), removals.isEmpty]).toEqual([
      true,
      false,
      false,
    ]);
    await ended(removals);
    expect([calls, removals.isRunning("d")]).toEqual([expected, false]);
    expect(lines).toMatchObject([{ destinationId: "d", events: 3, letters: 7 }]);
  },
);

test("a removal waits for the lane to stop, and for the catalog", async () => {
  const stopped = Promise.withResolvers<number>();
  const current = Promise.withResolvers<void>();
  const { removals, calls } = setup({ catalogCurrent: () => current.promise });
  removals.begin("d", stopped.promise);
  await Promise.resolve();
  current.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual([]);
  stopped.resolve(0);
  await ended(removals);
  expect(calls).toEqual(["remove d true", "forget d"]);
});

test("a lane that is needed after all keeps its progress", async () => {
  const { removals, calls, lines } = setup({ isKept: true });
  removals.begin("d", Promise.resolve(0));
  await ended(removals);
  expect([calls, lines]).toEqual([[], []]);
});

test("a second removal of a destination runs on when the first one ends", async () => {
  const { removals } = setup();
  const second = Promise.withResolvers<number>();
  removals.begin("d", Promise.resolve(0));
  removals.begin("d", second.promise);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(removals.isRunning("d")).toBe(true);
  second.resolve(0);
  await ended(removals);
});

test("a removal that fails is told, and a stop does not wait for its next try", async () => {
  const { removals, calls, lines } = setup({
    remove: () => Promise.reject(new Error("The disk is broken")),
  });
  removals.begin("d", Promise.resolve(0));
  await until(() => lines.length > 0);
  expect(lines).toMatchObject([{ destinationId: "d", err: { message: "The disk is broken" } }]);
  await removals.stop();
  expect([calls, lines.length, removals.isEmpty]).toEqual([["remove d true"], 1, true]);
});

test("a stop ends the wait for the catalog, and what it began is left for the next start", async () => {
  const { removals, calls, lines } = setup({ catalogCurrent: () => new Promise(() => {}) });
  removals.begin("d", Promise.resolve(0));
  await Promise.resolve();
  await removals.stop();
  const late = setup({ catalogCurrent: async () => {} });
  const stopped = Promise.withResolvers<number>();
  late.removals.begin("d", stopped.promise);
  const stop = late.removals.stop();
  stopped.resolve(0);
  await stop;
  expect([calls, lines, late.calls, late.lines]).toEqual([[], [], [], []]);
});
