import { expect, test } from "bun:test";
import type { Verdict } from "../../src/destinations/destination.ts";
import { RETRY_DELAY_MS_MIN } from "../../src/limits.ts";
import { DeliveryQueue } from "../../src/pipeline/delivering/delivery-queue.ts";
import { type Output, outputOf } from "../../src/pipeline/item.ts";
import type { Routes } from "../../src/pipeline/reading/routes.ts";

/** Delivers `count` outputs one by one, to these verdicts; returns how long was to be waited. */
async function waits(count: number, verdicts: Verdict["kind"][]): Promise<number[]> {
  const asked: number[] = [];
  const routes = {} as Routes;
  const queue = new DeliveryQueue({
    ...{ batchSize: () => 1, retryWindowMs: 1e12, elapsed: () => 0, age: () => 0 },
    ...{ random: () => 1, running: () => true, filling: () => false, refresh: () => {} },
    ...{ routes: () => routes, standing: () => ({ kind: "send" }), settle: () => {} },
    ...{ tally: () => ({ delivered: 0, failed: 0 }), failure: () => undefined },
    deliver: async () => ({ kind: verdicts.shift()!, reason: "As the test says" }),
    sleep: async (ms) => void asked.push(ms),
  });
  for (let n = 0; n < count; n++) {
    queue.push(outputOf({ routes } as Output["item"], Buffer.from("{}")));
  }
  await queue.ended();
  expect(verdicts).toEqual([]);
  return asked;
}

test.each(["delivered", "rejected"] as const)(
  "waits grow with each failure, and start from the shortest after an answer (%s)",
  async (answer) => {
    const asked = await waits(2, ["retry", "retry", "retry", answer, "retry", "delivered"]);
    expect(asked.map((ms) => ms / RETRY_DELAY_MS_MIN)).toEqual([1, 2, 4, 1]);
  },
);
