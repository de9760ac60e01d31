import { expect, test } from "bun:test";
import { CostlyPrograms } from "../../../src/sandbox/batch/costly-programs.ts";
import {
  COSTLY_BATCH_CPU_MS,
  COSTLY_PROGRAM_MS,
  CULPRIT_FORGOTTEN_MS,
  GUEST_CULPRITS_MAX,
} from "../../../src/settings/limits.ts";
import { program } from "../support.ts";

function costlyPrograms() {
  const time = { now: 0 };
  return { time, costly: new CostlyPrograms(() => time.now) };
}

test("a culprit or much CPU time makes a program costly for a while", () => {
  for (const [culprits, cpuMs] of [
    [1, 0],
    [0, COSTLY_BATCH_CPU_MS],
  ] as const) {
    const { time, costly } = costlyPrograms();
    const one = program("");
    costly.record(one, 0, COSTLY_BATCH_CPU_MS - 1);
    expect(costly.has(one)).toBe(false);
    costly.record(one, culprits, cpuMs);
    time.now += COSTLY_PROGRAM_MS - 1;
    expect(costly.has(one)).toBe(true);
    expect(costly.has(program(""))).toBe(false);
    time.now += 1;
    expect(costly.has(one)).toBe(false);
  }
});

test("culprits take the whole CPU time from later ones, and are forgotten one by one", () => {
  const { time, costly } = costlyPrograms();
  const one = program("");
  expect(costly.culpritsLeft(one)).toBe(GUEST_CULPRITS_MAX);
  costly.record(one, 1, 0);
  expect(costly.culpritsLeft(one)).toBe(GUEST_CULPRITS_MAX - 1);
  costly.record(one, 100, 0);
  expect(costly.culpritsLeft(one)).toBe(0);
  for (let left = 1; left <= GUEST_CULPRITS_MAX; left += 1) {
    time.now += CULPRIT_FORGOTTEN_MS - 1;
    expect(costly.culpritsLeft(one)).toBe(left - 1);
    time.now += 1;
    expect(costly.culpritsLeft(one)).toBe(left);
  }
  time.now += 10 * CULPRIT_FORGOTTEN_MS;
  expect(costly.culpritsLeft(one)).toBe(GUEST_CULPRITS_MAX);
});

test("culprits are forgotten at the same rate while the program goes on costing much", () => {
  const { time, costly } = costlyPrograms();
  const one = program("");
  costly.record(one, GUEST_CULPRITS_MAX, 0);
  const costlyPeriod = () => {
    for (let part = 0; part < 10; part += 1) {
      time.now += CULPRIT_FORGOTTEN_MS / 10;
      costly.record(one, 0, COSTLY_BATCH_CPU_MS);
    }
  };
  costlyPeriod();
  expect(costly.culpritsLeft(one)).toBe(1);
  // One more takes the whole time again, and is forgotten in its turn.
  costly.record(one, 1, 0);
  expect(costly.culpritsLeft(one)).toBe(0);
  costlyPeriod();
  costlyPeriod();
  expect(costly.culpritsLeft(one)).toBe(2);
  time.now += GUEST_CULPRITS_MAX * CULPRIT_FORGOTTEN_MS;
  costly.record(one, 1, 0);
  time.now += CULPRIT_FORGOTTEN_MS - 1;
  expect(costly.culpritsLeft(one)).toBe(GUEST_CULPRITS_MAX - 1);
});

test("the record of costly programs is bounded", () => {
  const { costly } = costlyPrograms();
  const [first, second] = [program(""), program("")];
  costly.record(first, 1, 0);
  costly.record(second, 1, 0);
  costly.record(first, 1, 0);
  for (let n = 0; n < 9_999; n += 1) costly.record(program(""), 1, 0);
  expect([costly.has(first), costly.has(second)]).toEqual([true, false]);
});
