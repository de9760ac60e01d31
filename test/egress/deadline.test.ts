import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { getEventListeners } from "node:events";
import { Deadline } from "../../src/egress/deadline.ts";
import { failureOf } from "./request-client.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A deadline after 10 ms, its caller, and the reasons for which it ended its work. */
function deadlineOf() {
  const caller = new AbortController();
  const deadline = new Deadline(10, caller.signal);
  const ends: unknown[] = [];
  deadline.onEnd((reason) => ends.push(reason));
  const listeners = () => getEventListeners(caller.signal, "abort").length;
  return { caller, deadline, ends, listeners };
}

test("a deadline that passes names what was awaited, and ends its work once", () => {
  const { caller, deadline, ends, listeners } = deadlineOf();
  deadline.throwIfOver();
  deadline.awaited = "connection";
  jest.advanceTimersByTime(9);
  expect([ends.length, listeners()]).toEqual([0, 1]);
  jest.advanceTimersByTime(5);
  const reason = new Error("No connection within 10 ms");
  expect(ends).toEqual([reason]);
  expect([jest.getTimerCount(), listeners()]).toEqual([0, 0]);
  caller.abort(new Error("Given up"));
  expect(ends).toHaveLength(1);
  expect(() => deadline.throwIfOver()).toThrow(reason);
  // Work that begins later ends at once.
  deadline.onEnd((later) => ends.push(later));
  expect(ends).toEqual([reason, reason]);
  expect(deadline.signal().reason).toEqual(reason);
});

test("a deadline for the rest of a longer limit names the longer one", () => {
  using deadline = new Deadline(10, new AbortController().signal, 500);
  jest.advanceTimersByTime(15);
  expect(() => deadline.throwIfOver()).toThrow(new Error("No complete answer within 500 ms"));
});

test("a caller that gives up ends the work with its own reason, whatever the work does", async () => {
  const { caller, deadline, listeners } = deadlineOf();
  const given: AbortSignal[] = [];
  const bound = failureOf(
    deadline.bound((signal) => {
      given.push(signal);
      return new Promise(() => {});
    }),
  );
  const reason = new Error("Given up");
  caller.abort(reason);
  expect([await bound, given[0]!.reason]).toEqual([reason, reason]);
  expect([jest.getTimerCount(), listeners()]).toEqual([0, 0]);
  expect(() => deadline.throwIfOver()).toThrow(reason);
  expect(await failureOf(deadline.bound(() => new Promise(() => {})))).toBe(reason);
});

test("work that ends in time gives its result or its error", async () => {
  const { deadline } = deadlineOf();
  expect(await deadline.bound(async ({ aborted }) => aborted)).toBe(false);
  const refused = deadline.bound(() => Promise.reject(new Error("Refused")));
  expect(await failureOf(refused)).toEqual(new Error("Refused"));
  deadline.clear();
});

test("a deadline that is cleared or restarted in its last moment ends nothing", () => {
  for (const action of ["clear", "restart"] as const) {
    const { deadline, ends, listeners } = deadlineOf();
    // The time is over; what has arrived meanwhile is read first.
    jest.advanceTimersByTime(10);
    deadline[action]();
    expect([jest.getTimerCount(), listeners()]).toEqual(action === "clear" ? [0, 0] : [1, 1]);
    jest.advanceTimersByTime(9);
    expect(ends).toEqual([]);
    deadline.clear();
  }
});
