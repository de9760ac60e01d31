import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { GUEST_BURST_CPU_MS_MAX } from "../../../src/sandbox/guest-limits.ts";
import type { GuestExchange } from "../../../src/sandbox/process/guest-channel.ts";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";
import { ResourceMonitor } from "../../../src/sandbox/process/resource-monitor.ts";

const profile = languageProfiles.javascript;
const IDLE_BYTES = 50 << 20;

/** The clock, and what the guest process has used at that time. */
let now: number;
let usage: {
  [name in "residentBytes" | "anonymousBytes" | "threads" | "cpuMs" | "mainCpuMs"]: number;
};
let hasProc: boolean;
let clock: ReturnType<typeof spyOn>;

beforeEach(() => {
  now = 1_000;
  hasProc = true;
  usage = { residentBytes: IDLE_BYTES, anonymousBytes: 1, threads: 1, cpuMs: 70, mainCpuMs: 60 };
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => clock.mockRestore());

function started(): ResourceMonitor {
  const monitor = new ResourceMonitor(1, profile, () => (hasProc ? { ...usage } : undefined));
  monitor.start();
  return monitor;
}

/** Lets time pass in which the guest uses CPU, in its main thread if nothing else is said. */
function pass(ms: number, cpuMs = 0, mainCpuMs = cpuMs): void {
  now += ms;
  usage.cpuMs += cpuMs;
  usage.mainCpuMs += mainCpuMs;
}

const exchangeOf = (more: Partial<GuestExchange> = {}) =>
  ({ startedAt: now, cpuMs: 100, wallMs: 1_000, replyBytesMax: 1, ...more }) as GuestExchange;

describe("the CPU debt of a guest", () => {
  test("is what it used beyond its share, paid by time, and bounded", () => {
    const monitor = started();
    expect(monitor.cpuDebtMs).toBe(0);
    pass(100, 80);
    monitor.measure(exchangeOf(), 0, 0.5);
    expect(monitor.cpuDebtMs).toBe(30);
    pass(40, 0);
    monitor.measure(exchangeOf(), 0, 0.5);
    expect(monitor.cpuDebtMs).toBe(10);
    pass(400, 0);
    monitor.measure(exchangeOf(), 0, 0.5);
    expect(monitor.cpuDebtMs).toBe(0);
    pass(1, 100 * GUEST_BURST_CPU_MS_MAX);
    monitor.measure(exchangeOf({ cpuMs: 1e9 }), 0, 0.5);
    expect(monitor.cpuDebtMs).toBe(4 * GUEST_BURST_CPU_MS_MAX);
  });

  test("is measured again at once while there is one, and else every second", () => {
    const monitor = started();
    const at = now;
    expect([999, 1_000].map((ms) => monitor.isDue(at + ms))).toEqual([false, true]);
    monitor.setCpuDebt(1);
    expect(monitor.isDue(at)).toBe(true);
    monitor.setCpuDebt(0);
    pass(1_000);
    monitor.measure(undefined, 0, 1);
    expect(monitor.isDue(now + 999)).toBe(false);
  });
});

test("a guest is killed above its memory, and replaced above a part of it", () => {
  const monitor = started();
  expect(monitor.idleBytes).toBe(IDLE_BYTES);
  const measured = (bytes: number) => {
    usage.residentBytes = IDLE_BYTES + bytes;
    usage.anonymousBytes = bytes;
    return [monitor.measure(undefined, 0, 1), monitor.isNearMemoryLimit, monitor.anonymousBytes];
  };
  const { recycleBytes, memoryBytesMax } = profile;
  expect(measured(recycleBytes)).toEqual([undefined, false, recycleBytes]);
  expect(measured(recycleBytes + 1)).toEqual([undefined, true, recycleBytes + 1]);
  expect(measured(memoryBytesMax)).toEqual([undefined, true, memoryBytesMax]);
  expect(measured(memoryBytesMax + 1)).toEqual(["memory", true, memoryBytesMax + 1]);
});

test("a guest that has started is killed for too many threads", () => {
  const monitor = started();
  usage.threads = profile.threadsMax;
  expect(monitor.measure(undefined, 0, 1)).toBeUndefined();
  usage.threads += 1;
  expect(monitor.measure(undefined, 0, 1)).toBe("threads");
  const starting = new ResourceMonitor(1, profile, () => ({ ...usage, residentBytes: 0 }));
  expect(starting.measure(undefined, 0, 1)).toBeUndefined();
});

describe("a guest without a request", () => {
  test("is killed for more CPU time than a twentieth of the time and an allowance", () => {
    const monitor = started();
    pass(1_000, 50 + profile.idleCpuMsMax);
    expect(monitor.measure(undefined, 0, 1)).toBeUndefined();
    pass(1_000, 50);
    expect(monitor.measure(undefined, 0, 1)).toBeUndefined();
    pass(1_000, 51);
    expect(monitor.measure(undefined, 0, 1)).toBe("idle");
  });

  test("pays back what it used, and no time in which it had a request counts", () => {
    const monitor = started();
    pass(1_000, profile.idleCpuMsMax);
    monitor.measure(undefined, 0, 1);
    pass(100_000);
    monitor.measure(undefined, 0, 1);
    pass(1_000, 50 + profile.idleCpuMsMax);
    expect(monitor.measure(undefined, 0, 1)).toBeUndefined();
    const exchange = exchangeOf({ cpuMs: 1e9 });
    for (const during of [exchange, undefined]) {
      pass(1_000, 500);
      expect(monitor.measure(during, 0, 1)).toBeUndefined();
    }
    pass(1_000, 51);
    expect(monitor.measure(undefined, 0, 1)).toBe("idle");
  });

  test("is idle below a fifth of a processor, which a pause does not show", () => {
    const monitor = started();
    expect(monitor.isIdle).toBe(true);
    const idle = (ms: number, cpuMs: number, exchange?: GuestExchange, share = 1) => {
      pass(ms, cpuMs);
      monitor.measure(exchange, 0, share);
      return monitor.isIdle;
    };
    expect(idle(100, 20)).toBe(false);
    expect(idle(100, 19)).toBe(true);
    expect(idle(100, 0, exchangeOf())).toBe(false);
    expect(idle(100, 0, undefined, 0)).toBe(false);
    expect(idle(100, 0, exchangeOf({ waitingSince: now }))).toBe(true);
  });
});

describe("a request", () => {
  test("ends its guest after the CPU time of the main thread, or three times as much of all", () => {
    const cases: [all: number, main: number, grace: number, end: "timeout" | undefined][] = [
      [100, 100, 0, undefined],
      [101, 101, 0, "timeout"],
      [101, 101, 1, undefined],
      [102, 102, 1, "timeout"],
      [300, 0, 0, undefined],
      [301, 0, 0, "timeout"],
      [301, 0, 1, undefined],
      [302, 0, 1, "timeout"],
    ];
    for (const [all, main, grace, end] of cases) {
      const monitor = started();
      const exchange = exchangeOf();
      expect(monitor.measure(exchange, grace, 1)).toBeUndefined();
      pass(10, all, main);
      expect([all, main, grace, monitor.measure(exchange, grace, 1)]).toEqual([
        ...[all, main, grace, end],
      ]);
    }
  });

  test("ends its guest after its clock time, to which its CPU time adds twentyfold", () => {
    const monitor = started();
    const exchange = exchangeOf();
    monitor.measure(exchange, 0, 1);
    pass(1_000);
    expect(monitor.measure(exchange, 0, 1)).toBeUndefined();
    pass(200, 10);
    expect(monitor.measure(exchange, 0, 1)).toBeUndefined();
    pass(1);
    expect(monitor.measure(exchange, 0, 1)).toBe("timeout");
    // The time in which it waits for the server does not count.
    expect(monitor.measure({ ...exchange, waitingSince: now - 1 }, 0, 1)).toBeUndefined();
  });

  test("that starts a guest has its clock time again whenever the guest used CPU", () => {
    const monitor = started();
    const exchange = exchangeOf({ restartsClockOnCpu: true, cpuMs: 1e9 });
    monitor.measure(exchange, 0, 1);
    for (let progress = 0; progress < 3; progress += 1) {
      pass(5_000, 1);
      expect(monitor.measure(exchange, 0, 1)).toBeUndefined();
    }
    pass(1_060);
    expect(monitor.measure(exchange, 0, 1)).toBeUndefined();
    pass(1);
    expect(monitor.measure(exchange, 0, 1)).toBe("timeout");
  });

  test("counts the CPU time of its guest", () => {
    const monitor = started();
    const meter = { cpuMs: 5 };
    pass(10, 7, 3);
    monitor.measure(exchangeOf({ meter }), 0, 1);
    expect(meter.cpuMs).toBe(12);
  });

  test("is bounded by the clock alone where the system has no /proc", () => {
    hasProc = false;
    const monitor = started();
    expect(monitor.idleBytes).toBe(0);
    const exchange = exchangeOf();
    pass(110);
    expect(monitor.measure(exchange, 10, 1)).toBeUndefined();
    pass(1);
    expect(monitor.measure(exchange, 10, 1)).toBe("timeout");
    pass(889);
    expect(monitor.measure(exchange, 1e9, 1)).toBeUndefined();
    pass(1);
    expect(monitor.measure(exchange, 1e9, 1)).toBe("timeout");
  });
});
