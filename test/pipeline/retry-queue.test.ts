import { expect, test } from "bun:test";
import { RetryQueue } from "../../src/pipeline/delivering/retry-queue.ts";
import {
  createOutput,
  type Output,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import {
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  RETRIES_SHARE_MAX,
} from "../../src/settings/limits.ts";
import { laneEvent } from "./doubles.ts";

const outputOf = (user: string, bytes = 2): Output => {
  const event = laneEvent();
  event.input = { ...event.input, event: { ...event.input.event, user } };
  return createOutput(event, new Uint8Array(bytes));
};

test("later events of a user wait behind the one that failed, and leave with it", () => {
  const counts = zeroOutputCounts();
  const queue = new RetryQueue(counts);
  expect(queue.isEmpty).toBe(true);
  const [first, second, third] = [outputOf("a", 5), outputOf("a", 7), outputOf("a", 11)];
  expect(queue.addBehind(second, 1)).toBe(false);
  const entry = queue.add(first);
  expect(entry).toEqual({ outputs: [first], failures: 0, dueAt: 0, mayRetryEarlier: false });
  expect(() => queue.add(second)).toThrow("A user has at most one output that is set aside");
  expect(queue.addBehind(outputOf("b"), 1)).toBe(false);
  expect(queue.addBehind(second, 10)).toBe(true);
  third.failingSince = 3;
  expect(queue.addBehind(third, 20)).toBe(true);
  expect([second.failingSince, third.failingSince]).toEqual([10, 3]);
  expect([counts.waiting, counts.waitingBytes, queue.isEmpty]).toEqual([3, 23, false]);
  queue.removeOutput(entry, 1);
  queue.removeOutput(entry, 9);
  expect([counts.waiting, counts.waitingBytes]).toEqual([2, 16]);
  expect(queue.remove(entry)).toEqual([third]);
  expect([counts.waiting, counts.waitingBytes, queue.isEmpty]).toEqual([0, 0, true]);
  expect(queue.addBehind(second, 1)).toBe(false);
});

test("the entry with the earliest time is next, and of equal ones the one that was set aside first", () => {
  const queue = new RetryQueue(zeroOutputCounts());
  expect(queue.next()).toBeUndefined();
  const [a, b, c] = ["a", "b", "c"].map((user) => queue.add(outputOf(user)));
  Object.assign(a!, { dueAt: 30 });
  Object.assign(b!, { dueAt: 20 });
  Object.assign(c!, { dueAt: 20 });
  expect(queue.next()).toBe(b);
  a!.dueAt = 10;
  expect(queue.next()).toBe(a);
});

test("entries become due at once if they may, or all of them, and none later than it was", () => {
  const queue = new RetryQueue(zeroOutputCounts());
  const [due, early, asked] = ["a", "b", "c"].map((user) => queue.add(outputOf(user)));
  Object.assign(due!, { dueAt: 5, mayRetryEarlier: true });
  Object.assign(early!, { dueAt: 90, mayRetryEarlier: true });
  Object.assign(asked!, { dueAt: 90 });
  const times = () => [due!.dueAt, early!.dueAt, asked!.dueAt];
  expect(queue.makeDue(50)).toBe(true);
  expect(times()).toEqual([5, 50, 90]);
  expect(queue.makeDue(60, true)).toBe(true);
  expect(times()).toEqual([5, 50, 60]);
  const other = new RetryQueue(zeroOutputCounts());
  other.add(outputOf("a"));
  expect([other.makeDue(1), other.makeDue(1, true)]).toEqual([false, true]);
});

test.each([
  ["waiting", RETRIES_SHARE_MAX * LANE_IN_FLIGHT_EVENTS_MAX],
  ["waitingBytes", RETRIES_SHARE_MAX * LANE_IN_FLIGHT_BYTES_MAX],
] as const)("retries press when they have more than their share of the lane: %s", (name, share) => {
  const counts = zeroOutputCounts();
  const queue = new RetryQueue(counts);
  counts[name] = share;
  expect(queue.isPressed).toBe(false);
  counts[name] = share + 1;
  expect(queue.isPressed).toBe(true);
});
