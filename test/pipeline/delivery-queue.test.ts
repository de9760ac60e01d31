import { expect, test } from "bun:test";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import { DeliveryQueue } from "../../src/pipeline/delivering/delivery-queue.ts";
import { createOutput, zeroOutputCounts } from "../../src/pipeline/model/lane-event.ts";
import type { Routes } from "../../src/pipeline/model/routes.ts";
import { RETRY_DELAY_MS_MIN } from "../../src/settings/limits.ts";
import { fail, laneEvent } from "./doubles.ts";

const routes = {} as Routes;

/** A host of a lane in which nothing else continues. */
const quiet = {
  ...{
    batchSize: () => 1,
    batchKey: () => "",
    retryWindowMs: 1e12,
    elapsed: () => 0,
    age: () => 0,
  },
  ...{ random: () => 1, isRunning: () => true, expectsMore: () => false, refresh: () => {} },
  ...{ routes: () => routes, decide: () => ({ kind: "send" }) as const, settle: () => {} },
  ...{ outputCounts: zeroOutputCounts(), failure: () => undefined, fail },
  deliver: async (): Promise<DeliveryResult> => ({ kind: "delivered" }),
  sleep: async () => {},
};

/** Delivers two outputs, one after the other, to these verdicts; returns the waits between. */
async function waits(verdicts: DeliveryResult["kind"][]): Promise<number[]> {
  const asked: number[] = [];
  let now = 0;
  const queue = new DeliveryQueue({
    ...quiet,
    elapsed: () => now,
    deliver: async () => ({ kind: verdicts.shift()!, reason: "As the test says" }),
    async sleep(ms) {
      asked.push(ms);
      now += ms;
    },
  });
  for (let n = 0; n < 2; n++) {
    queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from("{}")));
    await queue.ended();
  }
  expect(verdicts).toEqual([]);
  return asked;
}

test.each(["delivered", "rejected"] as const)(
  "retry delays grow with each failure, and restart from the shortest after an answer (%s)",
  async (answer) => {
    const asked = await waits(["retry", "retry", "retry", answer, "retry", "delivered"]);
    expect(asked.map((ms) => ms / RETRY_DELAY_MS_MIN)).toEqual([1, 2, 4, 1]);
  },
);

test("only the refused events of a delivery become dead letters", async () => {
  const ended: string[] = [];
  const queue = new DeliveryQueue({
    ...quiet,
    batchSize: () => 4,
    deliver: async () => ({ kind: "delivered", refused: new Map([[2, "No such column"]]) }),
    settle(outputs, ending) {
      const reason = "reason" in ending ? ending.reason : "";
      for (const { bytes } of outputs) ended.push(`${ending.kind} ${bytes} ${reason}`.trim());
    },
  });
  for (let n = 0; n < 4; n++) {
    queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from(String(n))));
  }
  await queue.ended();
  const refused = "dead-letter 2 No such column";
  expect(ended.sort()).toEqual([refused, "delivered 0", "delivered 1", "delivered 3"]);
});
