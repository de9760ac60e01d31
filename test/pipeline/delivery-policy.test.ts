import { expect, test } from "bun:test";
import type { Destination } from "../../src/catalog/model.ts";
import {
  DeliveryPolicy,
  type DeliveryPolicyContext,
} from "../../src/pipeline/delivering/delivery-policy.ts";
import { DOWN_MS_MIN } from "../../src/pipeline/limits.ts";
import {
  createOutput,
  type EventOutcome,
  type LaneEvent,
  type Output,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import { createRoutes, type RouteDecision } from "../../src/pipeline/model/routes.ts";
import { FOLLOWER_ATTEMPTS_MIN, POISON_ATTEMPTS_MIN } from "../../src/settings/limits.ts";
import { FakeLive, laneEvent } from "./doubles.ts";

test.each([
  ["just now, after a long time of failures, does not try old events", 1_000, DOWN_MS_MIN, 0],
  ["just now, after a short time of failures, tries old events", 1_000, 5_000, 1],
  ["ten seconds ago does not try old events yet", DOWN_MS_MIN, 3 * DOWN_MS_MIN, 0],
  ["some time ago tries old events again", DOWN_MS_MIN + 1_000, 3 * DOWN_MS_MIN, 1],
])("a destination that failed %s", (_, sinceLastMs, sinceFirstMs, tried) => {
  const elapsed = 1_000_000;
  const live = new FakeLive();
  live.putDestination("one");
  const routes = createRoutes(live.destination("one")!, []);
  const outcomes: EventOutcome[] = [];
  const policy = new DeliveryPolicy({
    retryWindowMs: DOWN_MS_MIN - 1,
    clock: { elapsed: () => elapsed, age: () => 60_001 },
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

const W = 60_000;
const NOW = 1_000_000;
const sameRoutes = createRoutes({} as Destination, []);

/** A policy of a lane whose state the test sets. */
function setUp(over: Partial<DeliveryPolicyContext> = {}) {
  const ended: string[] = [];
  const counts = zeroOutputCounts();
  const clock = { now: NOW };
  const policy = new DeliveryPolicy({
    retryWindowMs: W,
    clock: { elapsed: () => clock.now, age: () => 0 },
    routes: () => sameRoutes,
    decide: () => ({ kind: "send" }),
    settle(outputs, outcome) {
      const reason = "reason" in outcome ? ` ${outcome.reason}` : "";
      for (const { bytes } of outputs) ended.push(`${bytes} ${outcome.kind}${reason}`);
    },
    outputCounts: counts,
    failure: () => undefined,
    ...over,
  });
  return { policy, ended, counts, clock };
}

const outputOf = (text: string, over: Partial<LaneEvent> = {}) =>
  createOutput(laneEvent({ checkedRoutes: sameRoutes, ...over }), Buffer.from(text));
const textsOf = (outputs: readonly Output[]) => outputs.map(({ bytes }) => String(bytes));

test("an event is decided anew when the routes have changed since its code ran, and only then", () => {
  const decisions: RouteDecision[] = [
    { kind: "send" },
    { kind: "discard" },
    { kind: "refused", reason: "Connection is disabled" },
  ];
  const { policy, ended } = setUp({ decide: () => decisions.shift()! });
  const changed = { checkedRoutes: undefined };
  const others = ["sent", "gone", "off"].map((text) => outputOf(text, changed));
  expect(textsOf(policy.selectDue([outputOf("same"), ...others]))).toEqual(["same", "sent"]);
  expect(ended).toEqual(["gone discarded", "off dead-letter Connection is disabled"]);
  expect(decisions).toEqual([]);
});

/** For how long an event, and all attempts, have failed, and how old the event is. */
interface Ages {
  failingMs?: number;
  outageMs?: number;
  ageMs?: number;
}

const ages: [string, Ages, boolean][] = [
  ["whose attempts have failed for as long as the window is sent again", { failingMs: W }, true],
  ["whose attempts have failed for longer is given up", { failingMs: W + 1 }, false],
  ["of an outage as long as the window is sent again", { outageMs: W, ageMs: W + 1 }, true],
  ["of a longer outage is given up", { outageMs: W + 1, ageMs: W + 1 }, false],
  ["that is younger than a longer outage is sent again", { outageMs: W + 1, ageMs: W }, true],
  ["that is older than the window without an outage is sent again", { ageMs: W + 1 }, true],
];
test.each(ages)("an event %s", (_, { failingMs, outageMs, ageMs = 0 }, isKept) => {
  const failure =
    outageMs === undefined ? undefined : { since: NOW - outageMs, at: NOW, reason: "Down" };
  const clock = { elapsed: () => NOW, age: () => ageMs };
  const { policy, ended } = setUp({ clock, failure: () => failure });
  const output = outputOf("a");
  if (failingMs !== undefined) output.failingSince = NOW - failingMs;
  expect(policy.selectRetryable([output], { reason: "No" })).toEqual(isKept ? [output] : []);
  expect(ended).toEqual(isKept ? [] : ["a dead-letter No"]);
});

test("an attempt counts for each of its events, and is kept with those that it failed", () => {
  const { policy, clock } = setUp();
  const all = [outputOf("a"), outputOf("b")];
  const attempt = (at: number) => ({ at, durationMs: 1 });
  const facts = () =>
    all.map(({ attempts, failingSince, failedAttempts }) => [
      ...[attempts, failingSince, failedAttempts?.map(({ at }) => at)],
    ]);
  const refused = new Map([[1, "No"]]);
  policy.recordAttempt(all, { kind: "delivered", refused, attempt: attempt(1) });
  expect(facts()).toEqual([
    [1, undefined, undefined],
    [1, undefined, [1]],
  ]);
  policy.recordAttempt(all, { kind: "retry", reason: "Busy", attempt: attempt(2) });
  clock.now += 5;
  policy.recordAttempt(all, { kind: "retry", reason: "Busy" });
  expect(facts()).toEqual([
    [3, NOW, [2]],
    [3, NOW, [1, 2]],
  ]);
  policy.recordAttempt(all, { kind: "rejected", reason: "Bad", attempt: attempt(3) });
  policy.recordAttempt(all, { kind: "delivered" });
  expect(facts()).toEqual([
    [5, NOW, [2, 3]],
    [5, NOW, [1, 2, 3]],
  ]);
});

const ofEvent = { reason: "No", scope: "event" } as const;
const busy = { reason: "Busy" };

test("events that the receiver refuses become dead letters, and only those that never failed alone count as taken", () => {
  const { policy, ended, counts } = setUp();
  const [a, b, c] = ["a", "b", "c"].map((text) => outputOf(text));
  expect(policy.giveUpIfHopeless(c!, busy, {})).toBe(false);
  policy.settleDelivered([a!, b!, c!], new Map([[0, "No such column"]]));
  expect(ended).toEqual(["a dead-letter No such column", "b delivered", "c delivered"]);
  expect(counts).toMatchObject({ taken: 1, failed: 1 });
});

test("an event is at fault for its own failures alone, unless an outage explains them", () => {
  const { policy, ended, counts } = setUp();
  const fails = (output: Output, isOnly = true) => {
    counts.attempts += 1;
    return policy.giveUpIfHopeless(output, ofEvent, { isOnly });
  };
  const othersAreTaken = (taken: number) => {
    counts.attempts += 1;
    counts.taken += taken;
  };
  const output = outputOf("a");
  for (let n = 1; n <= 2 * POISON_ATTEMPTS_MIN; n++) expect(fails(output)).toBe(false);
  othersAreTaken(1);
  // The failures before may be those of an outage that has ended.
  for (let n = 2; n < POISON_ATTEMPTS_MIN; n++) expect(fails(output)).toBe(false);
  expect(output.failedAlone).toMatchObject({ ofEventAmongTaken: 2, ofEventAlone: 5 });
  expect(fails(output)).toBe(true);
  expect(ended).toEqual(["a dead-letter No"]);

  const between = outputOf("c");
  for (let n = 1; n < POISON_ATTEMPTS_MIN; n++) {
    expect(fails(between)).toBe(false);
    if (n > 1) counts.failed += 1;
    othersAreTaken(100);
  }
  expect(fails(between)).toBe(true);

  const down = outputOf("d");
  fails(down);
  othersAreTaken(100);
  counts.failed += 1;
  // From here on the destination is down: others fail as well, or wait for their retries.
  for (let n = 0; n < 50; n++) {
    expect(fails(down, n % 2 === 0)).toBe(false);
    if (n % 2 === 1) othersAreTaken(0);
  }

  const other = outputOf("b");
  for (let n = 0; n < 20; n++) {
    expect(policy.giveUpIfHopeless(other, busy, {})).toBe(false);
    counts.taken += 1;
  }
  expect(other.failedAlone).toMatchObject({ total: 20, ofEvent: 0, amongTaken: 20 });
});

test("an event is not at fault when as many others fail alone as are accepted", () => {
  const { policy, counts } = setUp();
  const output = outputOf("a");
  let failures = 0;
  while (!policy.giveUpIfHopeless(output, ofEvent, { isOnly: true }) && failures < 50) {
    failures += 1;
    counts.taken += 1;
    counts.failed += 1;
  }
  // At a half, 20 failures in a row come once in a million.
  expect(failures).toBe(19);
});

test.each([
  ["no other attempt fails", 0, POISON_ATTEMPTS_MIN],
  ["half of the other attempts fail", 1, 20],
])(
  "while memory is short, an event is given up for failures of the destination, too: %s",
  (_, othersFailed, expected) => {
    const { policy, counts } = setUp();
    const output = outputOf("a");
    const fails = (isPressed: boolean) => {
      counts.attempts += 1;
      counts.failedAttempts += 1;
      return policy.giveUpIfHopeless(output, busy, { isPressed });
    };
    let failures = 1;
    while (!fails(true) && failures < 50) {
      failures += 1;
      counts.taken += 1;
      counts.attempts += 1 + othersFailed;
      counts.failedAttempts += othersFailed;
    }
    expect(failures).toBe(expected);
  },
);

const F = FOLLOWER_ATTEMPTS_MIN;
test.each([
  ["a few failures of its own", { total: F, ofEvent: F - 1 }, false, false, false],
  ["many failures of its own", { total: F, ofEvent: F }, false, false, true],
  ["many of its own, while others are accepted", { total: F, ofEvent: F }, true, false, false],
  ["a few failures, while memory is short", { total: F - 1, ofEvent: F - 1 }, false, true, false],
  ["many failures, while memory is short", { total: F, ofEvent: 0 }, false, true, true],
  [
    "many, while memory is short and others are accepted",
    { total: F, ofEvent: 0 },
    true,
    true,
    true,
  ],
])(
  "the next event of a user is tried although the one before it has %s",
  (_, failures, wasAmongTaken, isPressed, expected) => {
    const { policy } = setUp();
    const output = outputOf("a");
    expect(policy.needsFollower(output, isPressed)).toBe(false);
    const rest = { ofEventAmongTaken: 0, ofEventAlone: 0, amongTaken: 0 };
    const atLast = { takenAtLast: 0, attemptsAtLast: 0 };
    const countsAtFirst = zeroOutputCounts();
    output.failedAlone = { ...failures, ...rest, ...atLast, wasAmongTaken, countsAtFirst };
    expect(policy.needsFollower(output, isPressed)).toBe(expected);
  },
);
