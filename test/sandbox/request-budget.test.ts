import { afterEach, expect, jest, test } from "bun:test";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import { TEST_OUTPUT_BYTES_MAX } from "../../src/settings/limits.ts";

afterEach(() => jest.useRealTimers());

test("tests that use all their CPU time end, and the code is to blame", () => {
  using budget = new TestBudget(undefined, { cpuMs: 2_000, wallMs: 60_000 });
  budget.charge(1_999);
  expect([budget.signal.aborted, budget.error, budget.cpuSpent]).toEqual([false, undefined, false]);
  expect(budget.guestEnd).toBe("retired");
  budget.charge(1);
  const message = "Stopped: the tests of one request may take 2 s of CPU time together";
  expect(budget.signal.reason).toEqual(new Error(message));
  expect(budget.error).toEqual({ message });
  expect([budget.cpuSpent, budget.guestEnd]).toEqual([true, "timeout"]);
});

test("tests that come no further end, unless a guest has started meanwhile", () => {
  jest.useFakeTimers();
  using budget = new TestBudget(undefined, { cpuMs: 2_000, wallMs: 10_000 });
  jest.advanceTimersByTime(9_000);
  budget.restartClock();
  jest.advanceTimersByTime(9_999);
  expect(budget.error).toBeUndefined();
  jest.advanceTimersByTime(1);
  const message = "Stopped: the tests came no further for 10 s";
  expect(budget.error).toEqual({ message });
  // The first reason stays.
  budget.charge(5_000);
  expect(budget.error).toEqual({ message });
  expect([budget.cpuSpent, budget.guestEnd]).toEqual([false, "retired"]);
});

test("tests whose caller hangs up end", () => {
  const caller = new AbortController();
  using budget = new TestBudget(caller.signal);
  expect(budget.callerHungUp).toBe(false);
  caller.abort();
  expect(budget.callerHungUp).toBe(true);
  expect(budget.error).toEqual({ message: "Stopped: the caller hung up" });
  using late = new TestBudget(caller.signal);
  expect(late.signal.aborted).toBe(true);
  using without = new TestBudget();
  expect(without.callerHungUp).toBe(false);
});

test("a budget that is over neither waits for its caller nor for its clock", () => {
  jest.useFakeTimers();
  const caller = new AbortController();
  const budget = new TestBudget(caller.signal, { cpuMs: 1, wallMs: 10 });
  budget[Symbol.dispose]();
  caller.abort();
  jest.advanceTimersByTime(20);
  expect(budget.signal.aborted).toBe(false);
});

test("outputs take room until none is left", () => {
  using budget = new TestBudget();
  budget.holdOutput(TEST_OUTPUT_BYTES_MAX - 1);
  expect(budget.outputBytesLeft).toBe(1);
  budget.holdOutput(0);
  budget.holdOutput(5);
  expect(budget.outputBytesLeft).toBe(0);
});

test("what a request holds is released at its end, or at once after it", () => {
  const released: string[] = [];
  const budget = new TestBudget();
  budget.onDispose(() => released.push("first"));
  expect(released).toEqual([]);
  budget[Symbol.dispose]();
  expect(released).toEqual(["first"]);
  budget.onDispose(() => released.push("late"));
  expect(released).toEqual(["first", "late"]);
});
