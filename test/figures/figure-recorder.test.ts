import { afterEach, expect, jest, setSystemTime, test } from "bun:test";
import { FigureRecorder } from "../../src/figures/figure-recorder.ts";
import type { FigureTables } from "../../src/figures/figure-tables.ts";
import { COUNTED_MINUTES, MINUTE_MS } from "../../src/figures/minute-counters.ts";
import { LAG_SECONDS, rowOf } from "../../src/figures/row.ts";
import type { Series } from "../../src/figures/series.ts";
import { listeningLogger } from "../log/support.ts";

afterEach(() => {
  jest.useRealTimers();
  setSystemTime();
});

/** A recorder with tables that fail when the test says so. */
function scene() {
  const { logger, lines } = listeningLogger();
  const state = { now: 1_000 * MINUTE_MS, isFailing: false, stored: 0, lag: new Map() };
  const ages = { earliest: Number.POSITIVE_INFINITY, tidiedAt: 0 };
  const tables = {
    async write() {
      if (state.isFailing) throw new Error("No broker answers");
      state.stored += 1;
    },
    async tidy(now: number) {
      ages.tidiedAt = now;
    },
  } as unknown as FigureTables;
  const recorder = new FigureRecorder({
    tables: () => tables,
    collect: () => new Map(),
    async collectLag() {
      return state.lag;
    },
    share: () => 1,
    now: () => state.now,
    earliestNow: () => Math.min(state.now, ages.earliest),
    logger,
  });
  const minute = async () => {
    state.now += MINUTE_MS;
    await recorder.step();
  };
  return { state, ages, recorder, lines, minute };
}

test("the log names a failing store once and its recovery once, and no minute is lost", async () => {
  const { state, lines, minute } = scene();
  state.isFailing = true;
  await minute();
  await minute();
  expect(lines).toMatchObject([
    { level: 40, reason: "No broker answers", msg: "figures are not stored; retrying" },
  ]);
  state.isFailing = false;
  await minute();
  await minute();
  expect(lines.slice(1)).toMatchObject([{ level: 30, msg: "figures are stored again" }]);
  expect(state.stored).toBe(4);
  state.isFailing = true;
  await minute();
  expect(lines).toHaveLength(3);
});

test("old figures are deleted by the earliest time that it can be now, while the clock is ahead", async () => {
  const { state, ages, minute } = scene();
  ages.earliest = state.now + MINUTE_MS;
  await minute();
  state.now += 9_000 * 60 * MINUTE_MS;
  await minute();
  expect(ages.tidiedAt).toBe(ages.earliest);
});

test("the newest minutes are kept while the store fails, also over a clock that is set", async () => {
  const { state, lines, minute } = scene();
  state.isFailing = true;
  for (let n = 0; n < 3; n++) await minute();
  state.now += 9_000 * 60 * MINUTE_MS;
  await minute();
  for (let n = 0; n < COUNTED_MINUTES; n++) await minute();
  state.isFailing = false;
  await minute();
  expect(lines.at(-1)).toMatchObject({ msg: "figures are stored again" });
  expect(state.stored).toBe(COUNTED_MINUTES + 1);
});

test("a stop whose last minute cannot be stored says so", async () => {
  const { state, recorder, lines } = scene();
  state.now += 10_000;
  state.isFailing = true;
  await recorder.close();
  await recorder.close();
  expect(lines).toMatchObject([
    {
      reason: "No broker answers",
      msg: "figures of the last minute not stored at the stop",
    },
  ]);
});

test("figures are stored within ten seconds after the end of each minute, until the stop", async () => {
  jest.useFakeTimers();
  const { state, recorder } = scene();
  const turn = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve();
  };
  const pass = async (ms: number) => {
    state.now += ms;
    jest.advanceTimersByTime(ms);
    await turn();
  };
  recorder.start();
  await pass(MINUTE_MS - 1);
  expect(state.stored).toBe(0);
  await pass(10_001);
  expect(state.stored).toBe(1);
  await pass(MINUTE_MS);
  expect(state.stored).toBe(2);
  await recorder.close();
  const { stored } = state;
  recorder.start();
  await pass(5 * MINUTE_MS);
  expect(state.stored).toBe(stored);
});

test("the lag of the minute of a start is known after two seconds", async () => {
  jest.useFakeTimers();
  const { state, recorder } = scene();
  state.lag.set("destination", rowOf([], { events: 3, seconds: 600 }));
  recorder.start();
  jest.advanceTimersByTime(2_000);
  for (let n = 0; n < 20; n++) await Promise.resolve();
  state.now += 2_000;
  const rows = recorder.unwritten(["destination" as Series]);
  expect(rows.find(({ series }) => series === "destination")?.row[LAG_SECONDS]).toBe(600);
  await recorder.close();
});

test("figures are stored also after the clock was set back", async () => {
  const { state, recorder, minute } = scene();
  await minute();
  state.now -= 60 * MINUTE_MS;
  await recorder.step();
  const { stored } = state;
  await minute();
  await minute();
  expect(state.stored).toBe(stored + 2);
  state.now += MINUTE_MS / 2;
  const seconds = recorder.unwritten([]).map(({ row }) => row[0]);
  expect(seconds).toEqual([30]);
});

test("a clock that jumps ahead by a year leaves as few unwritten minutes as the counters have", () => {
  const { state, recorder } = scene();
  state.now += 365 * 24 * 60 * MINUTE_MS;
  const rows = recorder.unwritten([]);
  expect(rows.map(({ at }) => at)).toEqual(
    Array.from({ length: COUNTED_MINUTES }, (_, n) => {
      return state.now - (COUNTED_MINUTES - 1 - n) * MINUTE_MS;
    }),
  );
});
