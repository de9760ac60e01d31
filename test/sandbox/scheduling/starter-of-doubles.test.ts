import { afterEach, beforeEach, expect, jest, mock, spyOn, test } from "bun:test";
import { Registry } from "prom-client";
import { InvariantError } from "../../../src/assert.ts";
import { createSandboxMetrics } from "../../../src/sandbox/metrics.ts";
import { Guest } from "../../../src/sandbox/process/guest.ts";
import { GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import type { StartReport } from "../../../src/sandbox/protocol/reply-parser.ts";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import {
  GuestStarter,
  type GuestStarterOptions,
} from "../../../src/sandbox/scheduling/guest-starter.ts";
import { listeningLogger } from "../../log/support.ts";

/** Decisions of a starter about guests, whose processes sleep and start as a test says. */

let now: number;
/** Results of the next starts; further ones succeed. */
let reports: (StartReport | Error)[];
let started: Guest[];
let given: boolean[];
/** Pauses before another attempt, and the status at that time. */
let pauses: unknown[];
let lines: Record<string, unknown>[];
let metrics: Registry;
let starter: GuestStarter;

beforeEach(() => {
  now = 50_000;
  [reports, started, given, pauses] = [[], [], [], []];
  spyOn(performance, "now").mockImplementation(() => now);
  spyOn(Bun, "sleep").mockImplementation(async (ms) => {
    pauses.push([ms, starter.status().state]);
    now += Number(ms);
  });
  spyOn(Guest.prototype, "start").mockImplementation(async function (this: Guest, insecure) {
    started.push(this);
    given.push(insecure);
    const report = reports.shift() ?? { ready: true };
    if (report instanceof Error) throw report;
    return report;
  });
});
afterEach(async () => {
  await starter.close();
  mock.restore();
  jest.useRealTimers();
});

function open(options: Partial<GuestStarterOptions> = {}) {
  const listening = listeningLogger();
  lines = listening.lines;
  metrics = new Registry();
  starter = new GuestStarter({
    ...{ guestCommand: ["/bin/sh", "-c", "exec sleep 60"], insecure: false, spares: 0 },
    ...{ log: listening.logger, metrics: createSandboxMetrics(metrics), graceMs: 200, watchMs: 25 },
    ...options,
  });
}

const acquire = (losses = 0) => starter.acquire("javascript", losses);
const refusalOf = (guest: Promise<Guest>) => guest.then(String, ({ message }) => message);
const defect = () => new Error("a defect");
const REASON = "Guests do not start: a defect";

test("a spare guest is given to code without losses, and another one is started for it", async () => {
  open({ spares: 1 });
  expect(starter.aliveCount).toBe(1);
  expect(await acquire()).toBe(started[0]!);
  expect(starter.aliveCount).toBe(2);
  // The spare stays for others.
  expect(await acquire(1)).toBe(started[2]!);
  expect(starter.aliveCount).toBe(3);
  expect(await acquire()).toBe(started[1]!);
  expect([starter.aliveCount, given]).toEqual([4, Array(4).fill(false)]);
});

test("a spare guest that has died meanwhile is not given to a caller", async () => {
  open({ spares: 1 });
  await acquire();
  started[1]!.kill("retired");
  expect(await acquire()).toBe(started[2]!);
});

test("without spares each guest starts when it is needed", async () => {
  open();
  expect(starter.aliveCount).toBe(0);
  for (const count of [1, 2]) {
    await acquire();
    expect([starter.aliveCount, started.length]).toEqual([count, count]);
  }
});

test("a start that fails is tried again, until three have failed in a row", async () => {
  open();
  reports = [defect()];
  expect(await acquire()).toBe(started[1]!);
  expect(pauses.splice(0)).toEqual([[100, "starting"]]);
  expect(started[0]!.dying).toBe(true);
  expect(starter.status()).toEqual({ state: "ready", insecure: false });

  reports = [defect(), defect(), defect()];
  expect(await refusalOf(acquire())).toBe(REASON);
  expect(pauses).toEqual([
    [100, "ready"],
    [200, "ready"],
  ]);
  const unavailable = { state: "unavailable", reason: REASON, insecure: false };
  expect(starter.status()).toMatchObject(unavailable);
  // No process is started before the next attempt is due.
  now += 399;
  expect(await refusalOf(acquire())).toBe(REASON);
  expect(started).toHaveLength(5);
  now += 1;
  await acquire();
  expect(starter.status()).toEqual({ state: "ready", insecure: false });
  // The same reason is logged once in a row.
  expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual(
    Array(2).fill(["guest process did not start", REASON]),
  );
});

test("the reason of a failed start is shown while guests are starting, by language", async () => {
  open();
  expect(starter.status()).toEqual({ state: "starting", insecure: false });
  reports = [defect(), defect(), defect()];
  let shown: unknown;
  spyOn(Bun, "sleep").mockImplementation(async (ms) => {
    shown ??= starter.status();
    now += Number(ms);
  });
  await expect(starter.acquire("python", 0)).rejects.toBeInstanceOf(SandboxUnavailable);
  const reason = "Python guests do not start: a defect";
  expect(shown).toEqual({ state: "starting", reason, insecure: false });
  await acquire();
  expect(starter.status()).toEqual({ state: "unavailable", reason, insecure: false });
});

test("a spare guest that does not start leaves its place to another one", async () => {
  jest.useFakeTimers();
  spyOn(performance, "now").mockImplementation(() => now);
  reports = [defect()];
  open({ spares: 1 });
  await new Promise(setImmediate);
  expect(started).toHaveLength(1);
  now += 100;
  jest.advanceTimersByTime(100);
  expect(started).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(started).toHaveLength(2);
  expect(await acquire()).toBe(started[1]!);
});

test("a guest that ends while it starts is explained by its end", async () => {
  open();
  reports = Array.from({ length: 3 }, () => new GuestEndedError("violation"));
  const reason = "Guests do not start: what answers is no guest of this version";
  expect(await refusalOf(acquire())).toBe(reason);
});

test("a guest that cannot be confined runs no code", async () => {
  open();
  reports = [{ ready: false, reason: "no Landlock" }];
  const reason = "User code cannot run: no Landlock";
  expect(await refusalOf(acquire())).toBe(reason);
  expect([pauses, started[0]!.dying]).toEqual([[], true]);
  expect(starter.status()).toEqual({ state: "unavailable", reason, insecure: false });
});

test("a gap of the confinement is logged once, and shown while code runs with it", async () => {
  open({ insecure: true });
  expect(starter.status()).toEqual({ state: "starting", insecure: true });
  reports = Array.from({ length: 2 }, () => ({ ready: true, reason: "no Landlock" }));
  for (let times = 0; times < 2; times += 1) {
    await acquire();
    expect(starter.status()).toEqual({ state: "ready", reason: "no Landlock", insecure: true });
  }
  expect(lines).toMatchObject([
    { reason: "no Landlock", msg: "user code runs without confinement" },
  ]);
  await acquire();
  expect(starter.status()).toEqual({ state: "ready", insecure: false });
  expect(given).toEqual([true, true, true]);
});

test("guests are counted from their start to their end, and an end with a cause is reported", async () => {
  open();
  const [first, second, third] = [await acquire(), await acquire(), await acquire()];
  const samples = async () => {
    const text = await metrics.metrics();
    return text.match(/^pixelmill_guest(?:s|_starts_total|_ends_total.*) \d+$/gm)!.toSorted();
  };
  expect(await samples()).toEqual(["pixelmill_guest_starts_total 3", "pixelmill_guests 3"]);
  first.kill("memory");
  second.kill("retired");
  const fault = new InvariantError("Broken invariant: a test's own");
  third.kill("retired", fault);
  await Promise.all([first, second, third].map(({ exited }) => exited));
  expect(await samples()).toEqual([
    'pixelmill_guest_ends_total{end="memory"} 1',
    'pixelmill_guest_ends_total{end="retired"} 2',
    "pixelmill_guest_starts_total 3",
    "pixelmill_guests 0",
  ]);
  expect([starter.aliveCount, starter.memoryBytes]).toEqual([0, 0]);
  const told = lines.map(({ msg, end }) => [msg, end]).toSorted();
  expect(told).toEqual([
    ["guest process ended", "memory"],
    ["guest process killed after an error in the host", undefined],
  ]);
});

test("a starter that is closed ends its guests, and starts no other", async () => {
  open({ spares: 1 });
  const guest = await acquire();
  await starter.close();
  expect([guest, ...started].map(({ dying }) => dying)).toEqual([true, true, true]);
  expect(await refusalOf(acquire())).toBe("Sandbox is closed");
  expect(started).toHaveLength(2);
});

test("the limits of guests are watched, and a standstill of the server does not count", async () => {
  jest.useFakeTimers();
  const enforced = spyOn(Guest.prototype, "enforceLimits").mockImplementation(() => {});
  const extended = spyOn(Guest.prototype, "extendDeadline").mockImplementation(() => {});
  open({ spares: 1 });
  let watched = 0;
  starter.onWatch = () => {
    watched += 1;
  };
  for (const ms of [25, 525, 526, 25]) {
    now += ms;
    jest.advanceTimersByTime(25);
  }
  expect(enforced.mock.calls.map(([graceMs]) => graceMs)).toEqual([200, 200, 200, 200]);
  expect(extended.mock.calls).toEqual([[501]]);
  expect(watched).toBe(4);
  await starter.close();
  jest.advanceTimersByTime(1_000);
  expect(watched).toBe(4);
});
