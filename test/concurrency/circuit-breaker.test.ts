import { expect, onTestFinished, spyOn, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { CircuitBreaker } from "../../src/concurrency/circuit-breaker.ts";
import { until } from "../log/support.ts";

const away = new Error("Away");
const fail = () => Promise.reject(away);
const reasonOf = (promise: Promise<unknown>) => promise.catch((error) => error);

test("an open circuit rejects calls at once, without an attempt, until a probe succeeds", async () => {
  let isAway = true;
  let attempts = 0;
  let probes = 0;
  const gate = new CircuitBreaker({
    isNeeded: () => true,
    async probe() {
      probes += 1;
      if (isAway) throw new Error("Still away");
    },
  });
  const attempt = async () => {
    attempts += 1;
    return "there";
  };
  expect(await gate.run(attempt)).toBe("there");
  expect(await reasonOf(gate.run(fail))).toBe(away);
  expect(await reasonOf(gate.run(attempt))).toBe(away);
  await until(() => probes > 1);
  expect(await reasonOf(gate.run(attempt))).toBe(away);
  expect(attempts).toBe(1);
  isAway = false;
  const after = probes;
  await until(() => probes > after);
  expect(await gate.run(attempt)).toBe("there");
});

test("several attempts that fail together are probed for once", async () => {
  let probing = 0;
  let most = 0;
  let isAway = true;
  const gate = new CircuitBreaker({
    isNeeded: () => isAway,
    async probe() {
      probing += 1;
      most = Math.max(most, probing);
      await Bun.sleep(1);
      probing -= 1;
      throw away;
    },
  });
  expect(await Promise.all([1, 2, 3].map(() => reasonOf(gate.run(fail))))).toEqual([
    away,
    away,
    away,
  ]);
  await until(() => most > 0);
  isAway = false;
  expect(most).toBe(1);
});

test("a broken invariant of a probe is the reason that callers get from then on", async () => {
  const fault = new InvariantError("Broken invariant: a test's own");
  let probes = 0;
  const gate = new CircuitBreaker({
    isNeeded: () => probes < 3,
    async probe() {
      probes += 1;
      throw probes === 1 ? away : fault;
    },
  });
  expect(await reasonOf(gate.run(fail))).toBe(away);
  await until(() => probes === 3);
  expect(await reasonOf(gate.run(async () => "there"))).toBe(fault);
});

test.each([
  ["has succeeded", 1, true, () => true],
  ["has failed when no further call is expected", 3, false, (probes: number) => probes < 3],
] as const)("probes end once one %s", async (_, expected, succeeds, isNeeded) => {
  let [sleeps, probes] = [0, 0];
  const sleep = spyOn(Bun, "sleep").mockImplementation(async () => {
    if (++sleeps > 10) throw new Error("Expected an end of the probes");
  });
  onTestFinished(() => sleep.mockRestore());
  const gate = new CircuitBreaker({
    isNeeded: () => isNeeded(probes),
    async probe() {
      probes += 1;
      if (!succeeds) throw away;
    },
  });
  expect(await reasonOf(gate.run(fail))).toBe(away);
  for (let turn = 0; turn < 100; turn++) await undefined;
  expect(probes).toBe(expected);
});
