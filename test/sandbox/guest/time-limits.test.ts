import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { cpuTimeMs, recentCpuTimeMs } from "../../../src/sandbox/guest/cpu-time.ts";
import * as channel from "../../../src/sandbox/guest/host-channel.ts";
import { settlePromises } from "../../../src/sandbox/guest/javascript/event-loop.ts";
import type { Realm } from "../../../src/sandbox/guest/javascript/realm.ts";
import { TimeBudget } from "../../../src/sandbox/guest/javascript/time-budget.ts";
import { CpuClock } from "../../../src/sandbox/guest/python/cpu-clock.ts";

/** How a guest measures and bounds the time of user code. */

let now: number;
beforeEach(() => {
  // Later than any reading before.
  now = Math.ceil(performance.now()) + 1_000_000;
  spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => void mock.restore());

/** Uses CPU time, so that a new reading differs. */
function work(): void {
  const before = cpuUsed();
  while (cpuUsed() === before);
}

function cpuUsed(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

test("a reading of the CPU time is taken again after 5 ms, or when it must be exact", () => {
  const first = cpuTimeMs();
  expect(first).toBeLessThanOrEqual(cpuUsed() / 1_000);
  work();
  now += 4.75;
  expect(recentCpuTimeMs()).toBe(first);
  now += 0.25;
  const second = recentCpuTimeMs();
  expect(second).toBeGreaterThan(first);
  work();
  expect(recentCpuTimeMs()).toBe(second);
  expect(cpuTimeMs()).toBeGreaterThan(second);
});

test("a request's budget shrinks by the time of each call, also of one that fails, down to 1 ms", () => {
  const budget = new TimeBudget(10);
  const given: unknown[] = [];
  const realm = {
    step(name: string, leftMs: number) {
      given.push([name, leftMs]);
      now += 4.5;
    },
  } as unknown as Realm;
  budget.step(realm, "run");
  budget.step(realm, "drain");
  const fail = () => {
    now += 0.5;
    throw new Error("a defect");
  };
  expect(() => budget.spend(fail)).toThrow("a defect");
  now += 100;
  expect(budget.spend((leftMs) => leftMs)).toBe(1);
  budget.step(realm, "arrive");
  budget.step(realm, "describe");
  expect(given).toEqual([
    ["run", 10],
    ["drain", 6],
    ["arrive", 1],
    ["describe", 1],
  ]);
});

test("a budget measures the CPU time since it was made", () => {
  const budget = new TimeBudget(10);
  work();
  expect(budget.usedCpuMs).toBeGreaterThan(0);
  expect(budget.usedCpuMs).toBeLessThan(cpuTimeMs());
});

test("Python is signalled at most every 10 ms while its CPU time is used up, and not afterwards", () => {
  const clock = new CpuClock();
  const SIGINT = 2;
  const read = (ms: number) => {
    now += ms;
    // CPython writes 0 when it has read a signal.
    clock[0] = 0;
    return clock[0];
  };
  expect(read(1_000)).toBe(0);
  const signals = clock.limit(0, () => [read(0), read(9), read(1), read(10)]);
  expect(signals).toEqual([SIGINT, 0, SIGINT, SIGINT]);
  expect(read(1_000)).toBe(0);
  // The time that the clock shows says nothing about CPU time.
  expect(clock.limit(60_000, () => [read(0), read(60_000), read(1)])).toEqual([0, 0, 0]);
  expect(() =>
    clock.limit(0, () => {
      throw new Error("Python failed");
    }),
  ).toThrow("Python failed");
  expect(read(1_000)).toBe(0);
});

/** A program's realm: `calls` host calls are pending, and each result that arrives ends one. */
function realmWith(calls: number) {
  const told: string[] = [];
  const runner = {
    awaited: () => calls,
    outgoing: () => `question ${calls}`,
    incoming: (results: string) => void told.push(results),
  };
  const realm = {
    runner,
    step(name: string) {
      if (name === "arrive") calls -= 1;
      told.push(name);
    },
  } as unknown as Realm;
  return { realm, told };
}

test("promises are given up after 20 rounds in which no host call is pending", async () => {
  const { realm, told } = realmWith(0);
  await settlePromises(realm, new TimeBudget(1_000), () => false);
  expect(told).toEqual(Array(20).fill("drain"));
});

test("promises settle until the program is done and has no host call pending", async () => {
  const { realm, told } = realmWith(0);
  await settlePromises(realm, new TimeBudget(1_000), () => told.length === 2);
  expect(told).toEqual(["drain", "drain"]);
});

test("host calls are sent and awaited although the program is done, and begin the rounds anew", async () => {
  const sent = spyOn(channel, "send").mockImplementation(() => {});
  const body = Buffer.from("results");
  spyOn(channel, "receiveResults").mockImplementation(() => ({ header: {}, body }) as never);
  const done = realmWith(2);
  await settlePromises(done.realm, new TimeBudget(1_000), () => true);
  expect(done.told).toEqual(["results", "arrive", "results", "arrive"]);
  expect(sent.mock.calls).toEqual([
    [{ kind: "wait" }, ["question 2"]],
    [{ kind: "wait" }, ["question 1"]],
  ]);
  const endless = realmWith(1);
  await settlePromises(endless.realm, new TimeBudget(1_000), () => false);
  expect(endless.told.filter((it) => it === "drain")).toHaveLength(19);
});

test("a guest whose server is gone waits for nothing", async () => {
  spyOn(channel, "send").mockImplementation(() => {});
  spyOn(channel, "receiveResults").mockImplementation(() => undefined);
  const { realm, told } = realmWith(1);
  await settlePromises(realm, new TimeBudget(1_000), () => false);
  expect(told).toEqual([]);
});
