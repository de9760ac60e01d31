import { expect, test } from "bun:test";
import { AttemptBudget } from "../../../src/sandbox/batch/attempt-budget.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { GUEST_SHORT_CPU_MS_MAX } from "../../../src/settings/limits.ts";

const LONG_MS = 10 * GUEST_SHORT_CPU_MS_MAX;
const budgetOf = (cpuMs = LONG_MS, culpritsMax = 2) =>
  new AttemptBudget({ ...defaultLimits, cpuMs }, culpritsMax);

test.each<[culprits: number, isWarm: boolean, isSuspect: boolean, cpuMs: number, allowed: number]>([
  [0, true, false, LONG_MS, LONG_MS],
  [1, false, false, LONG_MS, LONG_MS],
  // A suspected program gets a quarter.
  [1, true, true, LONG_MS, LONG_MS / 4],
  // After its culprits a batch gets a short time, which is longer in a fresh guest.
  [2, true, false, LONG_MS, GUEST_SHORT_CPU_MS_MAX],
  [3, true, true, LONG_MS, GUEST_SHORT_CPU_MS_MAX],
  [2, false, false, LONG_MS, LONG_MS / 4],
  [2, false, false, LONG_MS / 5, GUEST_SHORT_CPU_MS_MAX],
  [2, true, false, LONG_MS / 20, LONG_MS / 20],
])("after %d culprits, warm %p, suspect %p, an event of %d ms has %d ms", (...given) => {
  const [culprits, isWarm, isSuspect, cpuMs, allowed] = given;
  const budget = budgetOf(cpuMs);
  expect(budget.cpuMs).toBe(cpuMs);
  budget.begin(culprits, isWarm, isSuspect);
  expect(budget.cpuMs).toBe(allowed);
  budget.beginLoad();
  expect(budget.cpuMs).toBe(cpuMs);
});

test.each<[used: number, clock: number, loadKill: number]>([
  // Parts of the CPU time: used in the first attempt, then allowed.
  [0.4, 1.1 / 0.4, 2],
  [0.74, 2, 2],
  [0.001, 16, 2],
  [0, 16, 2],
])("an event that got %d of its time has %d of it by the clock next", (used, clock, loadKill) => {
  const budget = budgetOf();
  expect([budget.clockMs, budget.loadKillMs]).toEqual([LONG_MS, LONG_MS]);
  expect(budget.isUsedUp(used * LONG_MS, true)).toBe(false);
  expect(budget.clockMs).toBeCloseTo(clock * LONG_MS);
  expect(budget.loadKillMs).toBe(loadKill * LONG_MS);
  expect(budget.cpuMs).toBe(LONG_MS);
});

test("an event has used up its time at three quarters, or when it had the longest clock time", () => {
  const budget = budgetOf();
  const most = 0.75 * LONG_MS;
  expect([most - 1, most].map((ms) => budget.isProof(ms))).toEqual([false, true]);
  expect(budget.isUsedUp(most, false)).toBe(true);
  expect(budget.isUsedUp(most - 1, false)).toBe(false);
  // Other events came before it: nothing is known of the machine.
  expect(budget.clockMs).toBe(LONG_MS);
  expect(budget.isUsedUp(0, true)).toBe(false);
  expect(budget.isUsedUp(0, false)).toBe(false);
  expect(budget.isUsedUp(0, true)).toBe(true);
});

test("a machine that gave the time counts as idle again", () => {
  const budget = budgetOf();
  budget.isUsedUp(0, true);
  expect(budget.clockMs).toBe(16 * LONG_MS);
  budget.isUsedUp(2 * LONG_MS - 1, false);
  expect(budget.clockMs).toBe(16 * LONG_MS);
  budget.isUsedUp(2 * LONG_MS, false);
  expect(budget.clockMs).toBe(LONG_MS);
});

test("a guest that does not stop its events is killed after a quarter of the time at least", () => {
  const budget = budgetOf();
  expect(budget.killMs).toBe(LONG_MS);
  budget.begin(2, true, false);
  expect([budget.cpuMs, budget.killMs]).toEqual([GUEST_SHORT_CPU_MS_MAX, LONG_MS / 4]);
});

test("code is loaded again, with more time, if the machine was too busy", () => {
  const budget = budgetOf();
  const error = { message: "m" };
  budget.begin(2, true, false);
  expect(budget.mustLoadAgain({ error })).toBe(false);
  expect([budget.cpuMs, budget.clockMs]).toEqual([LONG_MS, LONG_MS]);
  expect(budget.mustLoadAgain({ error, usedMs: 0.75 * LONG_MS })).toBe(false);
  expect(budget.clockMs).toBe(LONG_MS);
  expect(budget.mustLoadAgain({ error, usedMs: 0.5 * LONG_MS })).toBe(true);
  expect(budget.clockMs).toBeCloseTo(2.2 * LONG_MS);
});
