import { expect, test } from "bun:test";
import type { Notifier } from "../../src/pipeline/clock.ts";
import { QueueWaits } from "../../src/pipeline/delivering/queue-waits.ts";
import { RETRY_DELAY_MS_MAX } from "../../src/settings/limits.ts";

/** Waits whose sleeps end when the test passes them, or when they are ended early. */
function manualWaits() {
  const outputCounts = { taken: 0 };
  const sleeps: number[] = [];
  let pass = () => {};
  const waits = new QueueWaits({
    outputCounts,
    clock: {
      sleep(ms, until: Notifier) {
        sleeps.push(ms);
        const { promise, resolve } = Promise.withResolvers<void>();
        pass = resolve;
        until.once(resolve);
        return promise;
      },
    },
  });
  const turn = () => Bun.sleep(0);
  return {
    ...{ waits, sleeps, outputCounts, turn },
    async pass() {
      pass();
      await turn();
    },
  };
}

test("a pause that the receiver asks for is waited for in steps, and is then over", async () => {
  const { waits, sleeps, pass } = manualWaits();
  const paused = waits.pause(2 * RETRY_DELAY_MS_MAX + 5, true);
  expect([waits.isPaused, waits.mayRetryEarlier]).toEqual([true, true]);
  for (let step = 0; step < 3; step++) await pass();
  await paused;
  expect(sleeps).toEqual([RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MAX, 5]);
  expect([waits.isPaused, waits.mayRetryEarlier]).toEqual([false, false]);
});

test("a pause ends early when it is ended, or when the receiver takes other events", async () => {
  const { waits, sleeps, outputCounts, pass, turn } = manualWaits();
  const ended = waits.pause(9 * RETRY_DELAY_MS_MAX, false);
  expect([waits.isPaused, waits.mayRetryEarlier]).toEqual([true, false]);
  waits.end();
  await turn();
  await ended;
  expect(sleeps).toHaveLength(1);
  const taken = waits.pause(9 * RETRY_DELAY_MS_MAX, false);
  await pass();
  expect(waits.isPaused).toBe(true);
  outputCounts.taken += 1;
  await pass();
  await taken;
  expect(sleeps).toHaveLength(3);
  expect(waits.isPaused).toBe(false);
});

test("a queue is idle while it waits for the next retry alone", async () => {
  const { waits, sleeps, pass } = manualWaits();
  const filled = waits.fill(7);
  expect(waits.isIdle).toBe(false);
  await pass();
  await filled;
  const idle = waits.idle(8);
  expect(waits.isIdle).toBe(true);
  waits.end();
  await idle;
  expect(waits.isIdle).toBe(false);
  expect(sleeps).toEqual([7, 8]);
});
