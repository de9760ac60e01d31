import { expect, test } from "bun:test";
import { GUEST_BURST_CPU_MS_MAX } from "../../../src/sandbox/guest-limits.ts";
import {
  CpuScheduler,
  GUEST_TIME_SLICE_MS,
  type SchedulableGuest,
} from "../../../src/sandbox/scheduling/cpu-scheduler.ts";

class Worker implements SchedulableGuest {
  workspaceId: string | undefined;
  runs = true;

  constructor(
    public runnable: boolean,
    public owes: boolean,
  ) {}

  get cpuDebtMs() {
    return this.owes ? GUEST_BURST_CPU_MS_MAX + 1 : 0;
  }

  pause() {
    this.runs = false;
  }
  resume() {
    this.runs = true;
  }
}

const workers = (count: number, owes: boolean, awake = true) =>
  Array.from({ length: count }, () => new Worker(awake, owes));
const running = (all: readonly Worker[]) => all.filter(({ runs }) => runs).length;

test("no guest is paused while there is a processor for each that computes a lot", () => {
  const all = [...workers(2, true), ...workers(9, false)];
  const rota = new CpuScheduler<Worker>(2);
  for (let now = 0; now < 10_000; now += 25) {
    rota.schedule(all, now);
    expect(running(all)).toBe(all.length);
  }
});

test("guests that compute a lot get equal turns, and other guests are never stopped", () => {
  const heavy = workers(7, true);
  const light = workers(5, false);
  const rota = new CpuScheduler<Worker>(2);
  const looks = new Map(heavy.map((worker) => [worker, 0]));
  for (let now = 0; now < 70 * GUEST_TIME_SLICE_MS; now += GUEST_TIME_SLICE_MS / 4) {
    rota.schedule([...heavy, ...light], now);
    expect(running(heavy)).toBe(2);
    expect(running(light)).toBe(5);
    for (const worker of heavy) if (worker.runs) looks.set(worker, looks.get(worker)! + 1);
  }
  expect(new Set(looks.values())).toEqual(new Set([80]));
});

test("a guest that sleeps, has paid its debt or is gone leaves the queue", () => {
  const [a, b, c] = workers(3, true) as [Worker, Worker, Worker];
  const rota = new CpuScheduler<Worker>(1);
  rota.schedule([a, b, c], 0);
  expect([a.runs, b.runs, c.runs].filter(Boolean)).toHaveLength(1);
  const first = [a, b, c].find(({ runs }) => runs)!;
  const others = [a, b, c].filter((worker) => worker !== first);
  first.runnable = false;
  rota.schedule([a, b, c], 1);
  expect(running(others)).toBe(1);
  expect(first.runs).toBe(true);
  others.find(({ runs }) => runs)!.owes = false;
  rota.schedule([a, b, c], 2);
  expect(running([a, b, c])).toBe(3);
  rota.schedule([first], 3);
  expect(first.runs).toBe(true);
});

test("a workspace's fair share is half of an equal part of the processors", () => {
  const rota = new CpuScheduler<Worker>(2);
  const all = workers(10, true);
  const [one] = all as [Worker];
  expect(rota.fairShareOf(one)).toBe(1);
  rota.schedule([...all, ...workers(30, false, false)], 0);
  expect(rota.fairShareOf(one)).toBe(0.1);
  const calm = workers(10, false);
  for (const worker of calm.slice(5)) worker.workspaceId = "w";
  rota.schedule(calm, 0);
  // Six workspaces, one of which divides its share among five guests.
  expect(calm.map((worker) => rota.fairShareOf(worker))).toEqual([
    ...Array(5).fill(1 / 6),
    ...Array(5).fill(1 / 6 / 5),
  ]);
  rota.schedule([], 0);
  expect(rota.fairShareOf(one)).toBe(1);
});

/** Guest that computes whenever it may, and counts its CPU time. */
class Spinner implements SchedulableGuest {
  workspaceId: string | undefined;
  readonly runnable = true;
  usedMs = 0;
  runs = true;

  constructor(public cpuDebtMs = 0) {}

  compute(ms: number) {
    if (!this.runs) return;
    this.usedMs += ms;
    this.cpuDebtMs = Math.min(1_000, this.cpuDebtMs + ms);
  }
  pause() {
    this.runs = false;
  }
  resume() {
    this.runs = true;
  }
}

test("many that begin at once are stopped before they have used much", () => {
  const all = Array.from({ length: 50 }, () => new Spinner());
  const rota = new CpuScheduler<Spinner>(2);
  for (let now = 0; now < 1_000; now += 25) {
    rota.schedule(all, now);
    for (const one of all) one.compute(25);
  }
  const used = all.reduce((sum, { usedMs }) => sum + usedMs, 0);
  // Two processors for a second, and a look's time for each.
  expect(used).toBeLessThanOrEqual(2_000 + 50 * 25);
});

test("the guest with the least CPU debt runs next", () => {
  const heavy = Array.from({ length: 20 }, () => new Spinner(1_000));
  const honest = new Spinner(200);
  const rota = new CpuScheduler<Spinner>(1);
  for (let now = 0; now <= 2 * GUEST_TIME_SLICE_MS; now += 25)
    rota.schedule([...heavy, honest], now);
  expect(honest.runs).toBe(true);
});

test("a workspace with two guests gets as much CPU time as one with a single guest", () => {
  const rota = new CpuScheduler<Spinner>(2);
  const pair = [new Spinner(), new Spinner()];
  for (const one of pair) one.workspaceId = "pair";
  const singles = Array.from({ length: 6 }, () => new Spinner());
  const all = [...pair, ...singles];
  for (let now = 0; now < 60_000; now += 25) {
    rota.schedule(all, now);
    for (const one of all) {
      one.compute(25);
      // The monitor of a real guest does the same.
      if (one.runs) one.cpuDebtMs = Math.max(0, one.cpuDebtMs - 25 * rota.fairShareOf(one));
    }
  }
  const [a, b] = pair as [Spinner, Spinner];
  const ofSingles = singles.reduce((sum, { usedMs }) => sum + usedMs, 0) / singles.length;
  expect((a.usedMs + b.usedMs) / ofSingles).toBeLessThan(1.2);
  expect((a.usedMs + b.usedMs) / ofSingles).toBeGreaterThan(0.8);
});

test("a guest may use half of a lone processor, and never more than one of many", () => {
  const [one] = workers(1, false) as [Worker];
  for (const [processors, share] of [
    [1, 0.5],
    [8, 1],
  ] as const) {
    const rota = new CpuScheduler<Worker>(processors);
    expect(rota.fairShareOf(one)).toBe(share);
    rota.schedule([one], 0);
    expect(rota.fairShareOf(one)).toBe(share);
  }
});

test("a guest is paused above its part of the debt that is free, and not at it", () => {
  // Two guests on one processor: half of the debt is free.
  const free = GUEST_BURST_CPU_MS_MAX / 2;
  for (const [debtMs, expected] of [
    [free, [true, true]],
    [free + 1, [true, false]],
  ] as const) {
    const guests = [new Spinner(debtMs), new Spinner(debtMs)];
    new CpuScheduler<Spinner>(1).schedule(guests, 0);
    expect(guests.map(({ runs }) => runs)).toEqual([...expected]);
  }
});
