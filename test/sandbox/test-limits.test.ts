import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import { TEST_OUTPUT_BYTES_MAX } from "../../src/settings/limits.ts";

/** The budget of the tests of one request, by itself. */

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const limits = { cpuMs: 2_000, wallMs: 3_000 };
const seen = ({ error, cpuSpent, callerHungUp, guestEnd, signal }: TestBudget) => ({
  ...{ error: error?.message, cpuSpent, callerHungUp, guestEnd, isAborted: signal.aborted },
});
const open = {
  ...{ error: undefined, cpuSpent: false, callerHungUp: false, guestEnd: "retired" as const },
  isAborted: false,
};

test("a budget ends when all CPU time is used, which ends guests as a timeout does", () => {
  using budget = new TestBudget(undefined, limits);
  budget.charge(1_500);
  budget.charge(499);
  expect(seen(budget)).toEqual(open);
  budget.charge(1);
  const error = "Stopped: the tests of one request may take 2 s of CPU time together";
  const spent = { ...open, error, cpuSpent: true, guestEnd: "timeout" as const, isAborted: true };
  expect(seen(budget)).toEqual(spent);
  expect(budget.signal.reason).toEqual(new Error(error));
  // The first reason stays.
  jest.advanceTimersByTime(10_000);
  expect(seen(budget)).toEqual(spent);
});

test("a budget ends by the clock, which begins anew with each guest", () => {
  using budget = new TestBudget(undefined, limits);
  jest.advanceTimersByTime(2_999);
  budget.restartClock();
  jest.advanceTimersByTime(2_999);
  expect(seen(budget)).toEqual(open);
  jest.advanceTimersByTime(1);
  const error = "Stopped: the tests came no further for 3 s";
  expect(seen(budget)).toEqual({ ...open, error, isAborted: true });
});

test("a budget ends when its caller hangs up, also before it begins", () => {
  const caller = new AbortController();
  const before = new TestBudget(caller.signal, limits);
  expect(seen(before)).toEqual(open);
  caller.abort();
  const after = new TestBudget(caller.signal, limits);
  const error = "Stopped: the caller hung up";
  for (const budget of [before, after]) {
    expect(seen(budget)).toEqual({ ...open, error, callerHungUp: true, isAborted: true });
    budget[Symbol.dispose]();
  }
});

test("a budget that is disposed ends nothing any more, and releases what was kept for it", () => {
  const caller = new AbortController();
  const budget = new TestBudget(caller.signal, limits);
  const released: string[] = [];
  budget.onDispose(() => released.push("early"));
  expect(released).toEqual([]);
  budget[Symbol.dispose]();
  budget.onDispose(() => released.push("late"));
  expect(released).toEqual(["early", "late"]);
  caller.abort();
  jest.advanceTimersByTime(10_000);
  expect(seen(budget)).toEqual({ ...open, callerHungUp: true });
});

test("the outputs of all tests share one bound", () => {
  using budget = new TestBudget(undefined, limits);
  expect(budget.outputBytesLeft).toBe(TEST_OUTPUT_BYTES_MAX);
  budget.holdOutput(TEST_OUTPUT_BYTES_MAX - 1);
  expect(budget.outputBytesLeft).toBe(1);
  budget.holdOutput(0);
  budget.holdOutput(2);
  expect(budget.outputBytesLeft).toBe(0);
  expect(() => budget.holdOutput(-1)).toThrow("have a size that is not negative");
});
