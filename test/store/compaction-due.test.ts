import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { pino } from "pino";
import type { CompactionProgress } from "../../src/store/ordered/compaction-progress.ts";
import {
  LogCompaction,
  type LogCompactionOptions,
} from "../../src/store/ordered/log-compaction.ts";
import type { ViewPosition } from "../../src/store/ordered/ordered-view.ts";

const BOUNDS = {
  min: { rows: 10, bytes: 1_000 },
  factor: 2,
  portion: { rows: 3, bytes: 400 },
  stalledMs: 50,
  keptMs: 70,
};
/** Bounds after a compaction that wrote 3 rows of 100 bytes. */
const [ROWS_MAX, BYTES_MAX] = [16, 1_200];
/** Pause after a failed compaction. */
const RETRY_MS = 5_000;

let now = 0;
beforeEach(() => {
  spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => mock.restore());

/** Compaction of a log whose view, progress and changes the test decides. */
function compactionOf(place: Partial<ViewPosition>, progress?: Partial<CompactionProgress>) {
  const begun: string[] = [];
  const state = { progress, change: async (): Promise<unknown> => undefined };
  const position = { next: 0, version: -1, first: 0, bytes: 0, ...place };
  const compaction = new LogCompaction({
    bounds: BOUNDS,
    view: { compaction: () => state.progress, position: () => position },
    log: { trim: async (to: number) => void begun.push(`trim ${to}`) },
    change: (_work: unknown, { allowStale }: { allowStale: boolean }) => {
      begun.push(allowStale ? "compact" : "compact after a read");
      return state.change();
    },
    logger: pino({ level: "silent" }),
  } as unknown as LogCompactionOptions);
  /** Asks at a time what is due, and returns the steps that it took. */
  const stepsAt = async (time: number, after: "change" | "read" = "change") => {
    now = time;
    compaction.runIfDue(position, after);
    await new Promise(setImmediate);
    return begun.splice(0);
  };
  return { state, position, compaction, stepsAt };
}

const last = { id: "last", rows: 3, bytes: 100, isDone: true };
const due: [string, Partial<ViewPosition>, Partial<CompactionProgress> | undefined, string[]][] = [
  ["rows at the bound after a compaction", { next: 5 + ROWS_MAX }, last, []],
  ["one row above it", { next: 5 + ROWS_MAX + 1 }, last, ["compact"]],
  ["bytes at the bound after a compaction", { bytes: BYTES_MAX }, last, []],
  ["one byte above it", { bytes: BYTES_MAX + 1 }, last, ["compact"]],
  ["rows at the bound before the first compaction", { next: 15 }, undefined, []],
  ["one row above the first bound", { next: 16 }, undefined, ["compact"]],
  ["bytes at the bound before the first compaction", { bytes: 1_000 }, undefined, []],
  ["one byte above the first bound", { bytes: 1_001 }, undefined, ["compact"]],
];
test.each(due)(
  "a log is compacted above its bounds alone: %s",
  async (_, place, progress, steps) => {
    const { stepsAt } = compactionOf({ first: 5, ...place }, progress);
    // Nothing is old enough to be trimmed.
    expect(await stepsAt(0)).toEqual(steps);
  },
);

test("after a read a log is compacted only if more barriers than the least rows follow the last change", async () => {
  const long = { next: 100 };
  const changed = compactionOf({ ...long, version: 90 });
  expect(await changed.stepsAt(0, "read")).toEqual([]);
  expect(await changed.stepsAt(0, "change")).toEqual(["compact"]);
  const read = compactionOf({ ...long, version: 89 });
  expect(await read.stepsAt(0, "read")).toEqual(["compact"]);
});

test("a compaction of another node is taken over once its step has stood still for too long", async () => {
  const walk = { walk: { position: 0, bytes: 0 } };
  const { state, stepsAt } = compactionOf(walk, { ...last, isDone: false });
  expect(await stepsAt(1_000)).toEqual([]);
  expect(await stepsAt(1_050)).toEqual([]);
  state.progress = { ...last, isDone: false, rows: 4 };
  expect(await stepsAt(1_051)).toEqual([]);
  expect(await stepsAt(1_101)).toEqual([]);
  expect(await stepsAt(1_102)).toEqual(["compact"]);
});

test("replaced entries are trimmed once, after the time for which slow nodes may read them", async () => {
  const { position, stepsAt } = compactionOf({ first: 5 });
  expect(await stepsAt(1_000, "read")).toEqual([]);
  expect(await stepsAt(1_069, "read")).toEqual([]);
  expect(await stepsAt(1_070, "read")).toEqual(["trim 5"]);
  expect(await stepsAt(9_000, "read")).toEqual([]);
  // A later compaction has a time of its own.
  Object.assign(position, { first: 9, next: 9 });
  expect(await stepsAt(10_000, "read")).toEqual([]);
  expect(await stepsAt(10_070, "read")).toEqual(["trim 9"]);
});

test("a compaction begins neither beside another, nor soon after a failure, nor after the close", async () => {
  const { state, compaction, stepsAt } = compactionOf({ next: 100 });
  const running = Promise.withResolvers<void>();
  state.change = () => running.promise;
  expect(await stepsAt(1_000)).toEqual(["compact"]);
  expect(await stepsAt(2_000)).toEqual([]);
  running.reject(new Error("The log cannot be written"));
  await new Promise(setImmediate);
  state.change = async () => undefined;
  expect(await stepsAt(2_000 + RETRY_MS - 1)).toEqual([]);
  expect(await stepsAt(2_000 + RETRY_MS)).toEqual(["compact"]);
  await compaction.close();
  expect(await stepsAt(99_000)).toEqual([]);
});

test("a compaction pauses after each step for four times as long, for a second at most", async () => {
  const sleep = spyOn(Bun, "sleep").mockImplementation(async () => {});
  const { state, stepsAt } = compactionOf({ next: 100 });
  const steps = [
    { ms: 1, result: "id" },
    { ms: 10, result: false },
    { ms: 400, result: false },
    { ms: 0.3, result: true },
  ].values();
  state.change = async () => {
    const { ms, result } = steps.next().value!;
    now += ms;
    return result;
  };
  expect(await stepsAt(0)).toEqual(Array(4).fill("compact"));
  expect(sleep.mock.calls).toEqual([[40], [1_000], [2]]);
});

test("a compaction that failed between two steps is continued by its own node alone", async () => {
  const { state, position, stepsAt } = compactionOf({ next: 100 });
  const failing = [async () => "id", () => Promise.reject(new Error("The log cannot be written"))];
  state.change = () => failing.shift()!();
  expect(await stepsAt(0)).toEqual(["compact", "compact"]);
  state.progress = { ...last, isDone: false };
  const ended = [async () => "id", async () => true];
  state.change = () => ended.shift()!();
  Object.assign(position, { walk: { position: 0, bytes: 0 } });
  expect(await stepsAt(RETRY_MS)).toEqual(["compact", "compact"]);
  // The compaction that runs now is another node's.
  expect(await stepsAt(RETRY_MS + 1)).toEqual([]);
});
