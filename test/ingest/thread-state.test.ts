import { expect, test } from "bun:test";
import { hasProgressed, readMainThread } from "../../src/ingest/supervisor/thread-state.ts";

test("a thread that used or waits for CPU or disk has progressed, one that sleeps or is stopped has not", () => {
  const before = { state: "S", ticks: 100 };
  for (const [state, ticks, expected] of [
    ["S", 101, true],
    ["R", 100, true],
    ["D", 100, true],
    ["S", 100, false],
    ["T", 100, false],
  ] as const) {
    expect(hasProgressed(before, { state, ticks })).toBe(expected);
  }
  expect(hasProgressed(undefined, before)).toBe(false);
  expect(hasProgressed(before, undefined)).toBe(false);
});

test("the state of a main thread is read from the kernel", () => {
  const before = readMainThread(process.pid)!;
  for (const until = performance.now() + 200; performance.now() < until; );
  expect(readMainThread(process.pid)!.ticks).toBeGreaterThan(before.ticks);
  expect(readMainThread(process.pid)!.state).toBe("R");
  expect(readMainThread(2 ** 22 + 1)).toBeUndefined();
});
