import { expect, test } from "bun:test";
import { DeliveryPolicy } from "../../src/pipeline/delivering/delivery-policy.ts";
import { DOWN_MS_MIN } from "../../src/pipeline/limits.ts";
import {
  createOutput,
  type EventOutcome,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { FakeLive, laneEvent } from "./doubles.ts";

test.each([
  ["just now, after a long time of failures, does not try old events", 1_000, DOWN_MS_MIN, 0],
  ["just now, after a short time of failures, tries old events", 1_000, 5_000, 1],
  ["some time ago tries old events again", DOWN_MS_MIN + 1_000, 3 * DOWN_MS_MIN, 1],
])("a destination that failed %s", (_, sinceLastMs, sinceFirstMs, tried) => {
  const elapsed = 1_000_000;
  const live = new FakeLive();
  live.putDestination("one");
  const routes = createRoutes(live.destination("one")!, []);
  const outcomes: EventOutcome[] = [];
  const policy = new DeliveryPolicy({
    retryWindowMs: DOWN_MS_MIN - 1,
    elapsed: () => elapsed,
    age: () => 60_001,
    routes: () => routes,
    decide: () => ({ kind: "send" }),
    settle: (_, outcome) => outcomes.push(outcome),
    outputCounts: zeroOutputCounts(),
    failure: () => ({ since: elapsed - sinceFirstMs, at: elapsed - sinceLastMs, reason: "No" }),
  });
  const output = createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from("{}"));
  expect(policy.selectDue([output]).length).toBe(tried);
  const givenUp = { kind: "dead-letter", stage: "deliver", reason: "No" } as const;
  expect(outcomes).toEqual(tried === 0 ? [givenUp] : []);
});
