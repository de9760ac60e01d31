import { expect, test } from "bun:test";
import { CommitDelay } from "../../src/log/commit-delay.ts";

/** Runs a delay whose clock is `ms` after the last flush, and returns whether it waited by timer. */
async function waits(options: { ms: number; records: number; expectsMore: boolean }) {
  let now = 0;
  let expectsMore = options.expectsMore;
  const delay = new CommitDelay(
    () => expectsMore,
    () => now,
  );
  delay.flushBegins();
  now = options.ms;
  const { setTimeout } = globalThis;
  let timers = 0;
  // A timer that never fires: only a record can end the wait.
  globalThis.setTimeout = (() => {
    timers++;
  }) as never;
  try {
    const waited = delay.wait(() => options.records);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (timers > 0) {
      delay.recordAdded();
      expect(await isSettled(waited)).toBe(false);
      expectsMore = false;
      delay.recordAdded();
    }
    await waited;
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  return timers > 0;
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  const pending = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([promise.then(() => true), pending]);
}

const soon = { ms: 0.25, records: 8, expectsMore: true };

test("a flush soon after the last one waits for fast records, until none can come", async () => {
  expect(await waits(soon)).toBe(true);
});

test("a flush waits for no record when the last flush is long ago, records are rare, or none can come", async () => {
  expect(await waits({ ...soon, ms: 1 })).toBe(false);
  expect(await waits({ ...soon, ms: Number.POSITIVE_INFINITY })).toBe(false);
  expect(await waits({ ...soon, ms: 0.75, records: 2 })).toBe(false);
  expect(await waits({ ...soon, expectsMore: false })).toBe(false);
});
