import { expect, test } from "bun:test";
import { BatchDivider } from "../../src/pipeline/delivering/batch-divider.ts";
import type { AttemptResult } from "../../src/pipeline/model/attempt.ts";
import { createOutput, type Output } from "../../src/pipeline/model/lane-event.ts";
import { laneEvent } from "./doubles.ts";

const delivered: AttemptResult = { kind: "delivered" };
const wrongEvent: AttemptResult = { kind: "retry", scope: "event", reason: "HTTP 500" };
const rejected: AttemptResult = { kind: "rejected", reason: "HTTP 400" };
const brokenServer: AttemptResult = { kind: "retry", reason: "HTTP 503" };

const outputOf = (user: string): Output => {
  const event = laneEvent();
  event.input = { ...event.input, event: { ...event.input.event, user } };
  return createOutput(event, Buffer.from("{}"));
};
const outputs = (count: number) => Array.from({ length: count }, (_, n) => outputOf(`u${n}`));

/** Delivers a batch in which these events are wrong; returns the sizes of its requests. */
function deliver(
  divider: BatchDivider,
  count: number,
  wrong: readonly number[],
  { batchSize = 1_000, failure = wrongEvent } = {},
): number[] {
  divider.begin();
  const all = outputs(count);
  const bad = new Set(wrong.map((n) => all[n]));
  const sizes: number[] = [];
  for (let rest = all; rest.length > 0; ) {
    const chosen = divider.choose(rest, { batchSize, failures: 0, random: 0 });
    const { from, count } = chosen;
    const hasBad = rest.slice(from, from + count).some((it) => bad.has(it));
    divider.record({ ...chosen, batchSize, result: hasBad ? failure : delivered });
    sizes.push(count);
    // An event that fails alone is set aside.
    if (!hasBad || count === 1) rest = rest.toSpliced(from, count);
  }
  return sizes;
}

test.each([
  [8, [], [8]],
  [8, [0], [8, 4, 2, 1, 4, 3]],
  [8, [5], [8, 4, 2, 1, 1, 2]],
  [8, [7], [8, 4, 2, 1, 1]],
  [8, [0, 7], [8, 4, 2, 1, 4, 3, 2, 1]],
  [3, [2], [3, 2, 1]],
  [1, [0], [1]],
])("requests with %d events of which %j are wrong become smaller", (count, wrong, sizes) => {
  expect(deliver(new BatchDivider(), count, wrong)).toEqual(sizes);
  expect(deliver(new BatchDivider(), count, wrong, { failure: rejected })).toEqual(sizes);
});

test("a request has at most the events of a batch, and after a failure grows to twice with each success", () => {
  const divider = new BatchDivider();
  expect(deliver(divider, 10, [], { batchSize: 4 })).toEqual([4, 4, 2]);
  expect(deliver(divider, 16, [0], { batchSize: 7 })).toEqual([4, 2, 1, 2, 4, 7, 2]);
  // The size outlasts a batch, and what is suspected does not.
  const all = outputs(64);
  const state = { batchSize: 64, failures: 0, random: 0 };
  const other = new BatchDivider();
  other.record({ from: 0, count: 64, batchSize: 64, result: wrongEvent });
  expect(other.choose(all, state).count).toBe(32);
  other.record({ from: 0, count: 32, batchSize: 64, result: wrongEvent });
  expect(other.choose(all, state).count).toBe(16);
  other.begin();
  expect(other.choose(all, state).count).toBe(32);
});

test("events that left the batch meanwhile are suspected no more", () => {
  const divider = new BatchDivider();
  divider.record({ from: 0, count: 64, batchSize: 64, result: wrongEvent });
  const state = { batchSize: 64, failures: 0, random: 0 };
  expect(divider.choose(outputs(3), state).count).toBe(2);
});

test("a failure of the destination divides a batch only when it comes again", () => {
  const divider = new BatchDivider();
  const all = outputs(8);
  const attempt = (result: AttemptResult) => {
    const chosen = divider.choose(all, { batchSize: 8, failures: 0, random: 0 });
    const isOfEvent = divider.record({ ...chosen, batchSize: 8, result });
    return [chosen.count, isOfEvent];
  };
  divider.begin();
  expect(attempt(brokenServer)).toEqual([8, false]);
  expect(attempt(brokenServer)).toEqual([8, false]);
  // From now on an event is suspected, whatever the failure says.
  expect(attempt(brokenServer)).toEqual([4, true]);
  expect(attempt(brokenServer)).toEqual([2, true]);
  expect(attempt(brokenServer)).toEqual([1, true]);
  // One that fails alone is cleared of the others' failures.
  expect(attempt(brokenServer)).toEqual([4, false]);
  divider.begin();
  expect(attempt(brokenServer)).toEqual([2, false]);
  expect(attempt(wrongEvent)).toEqual([2, true]);
  expect(attempt(delivered)).toEqual([1, true]);
});

test("after two failures in a row the first event of a random user is sent alone", () => {
  const divider = new BatchDivider();
  const rest = ["a", "b", "a", "b"].map(outputOf);
  const choose = (random: number, failures = 2, of = rest) =>
    divider.choose(of, { batchSize: 4, failures, random });
  expect(choose(0.74)).toEqual({ from: 0, count: 1 });
  expect(choose(0.75)).toEqual({ from: 1, count: 1 });
  expect(choose(0.25)).toEqual({ from: 1, count: 1 });
  expect(choose(1)).toEqual({ from: 0, count: 1 });
  expect(choose(0.75, 1)).toEqual({ from: 0, count: 4 });
  expect(choose(0.75, 2, rest.slice(1, 2))).toEqual({ from: 0, count: 1 });
});

test.each([
  // Among the five suspected ones: one less remains, and half of them are tried next.
  [0, delivered, 2],
  [4, delivered, 2],
  [4, wrongEvent, 2],
  // Behind them: all remain.
  [5, delivered, 3],
  [5, wrongEvent, 3],
  // The first one is the cause.
  [0, wrongEvent, 4],
])(
  "an event sent alone from place %d with the result %o is followed by a request of %d",
  (from, result, next) => {
    const divider = new BatchDivider();
    for (const count of [8, 5])
      divider.record({ from: 0, count, batchSize: 10, result: wrongEvent });
    divider.record({ from, count: 1, batchSize: 10, result });
    const chosen = divider.choose(outputs(9), { batchSize: 10, failures: 0, random: 0 });
    expect(chosen).toEqual({ from: 0, count: next });
  },
);
