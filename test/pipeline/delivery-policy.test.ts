import { expect, test } from "bun:test";
import {
  DeliveryPolicy,
  type DeliveryPolicyContext,
} from "../../src/pipeline/delivering/delivery-policy.ts";
import { DOWN_MS_MIN } from "../../src/pipeline/limits.ts";
import type { EventOutcome, Output } from "../../src/pipeline/model/lane-event.ts";

test.each([
  ["just now is not tried for old events", 1_000, DOWN_MS_MIN, 0],
  ["just now, but not for long, is tried", 1_000, 5_000, 1],
  ["some time ago is tried again", DOWN_MS_MIN + 1_000, 3 * DOWN_MS_MIN, 1],
])("a destination that failed %s", (_, sinceLastMs, sinceFirstMs, tried) => {
  const elapsed = 1_000_000;
  const routes = {};
  const endings: EventOutcome[] = [];
  const host = {
    ...{ retryWindowMs: 60_000, elapsed: () => elapsed, age: () => 60_001, routes: () => routes },
    settle: (_: readonly Output[], ending: EventOutcome) => endings.push(ending),
    failure: () => ({ since: elapsed - sinceFirstMs, at: elapsed - sinceLastMs, reason: "No" }),
  } as unknown as DeliveryPolicyContext;
  const output = { item: { routes, bornAt: 0 } } as unknown as Output;
  expect(new DeliveryPolicy(host).due([output]).length).toBe(tried);
  const given = { kind: "dead-letter", stage: "deliver", reason: "No" } as const;
  expect(endings).toEqual(tried === 0 ? [given] : []);
});
