import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import {
  GuestStartHealth,
  sandboxStatus,
} from "../../../src/sandbox/scheduling/guest-start-health.ts";
import { describeStartFailure } from "../../../src/sandbox/scheduling/start-failure.ts";

let now: number;
let clock: ReturnType<typeof spyOn>;
beforeEach(() => {
  now = 5_000;
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => clock.mockRestore());

const seen = ({
  unavailable,
  failing,
  ready,
  delayMs,
  reason,
  confinementGap,
}: GuestStartHealth) => ({
  ...{ unavailable, failing, ready, delayMs, reason, confinementGap },
});
const fresh = {
  ...{ unavailable: false, failing: false, ready: false, delayMs: 0 },
  ...{ reason: undefined, confinementGap: undefined },
};

test("guests are unavailable after three failed starts in a row, each of which doubles the delay", () => {
  const health = new GuestStartHealth();
  expect(seen(health)).toEqual(fresh);
  for (const [unavailable, delayMs] of [
    [false, 100],
    [false, 200],
    [true, 400],
    [true, 800],
  ] as const) {
    health.onFailure("no room", false);
    expect(seen(health)).toEqual({
      ...fresh,
      unavailable,
      failing: true,
      delayMs,
      reason: "no room",
    });
  }
  for (let times = 0; times < 20; times += 1) health.onFailure("no room", false);
  expect(health.delayMs).toBe(30_000);
  now += 29_999;
  expect(health.delayMs).toBe(1);
  now += 2;
  expect(health.delayMs).toBe(0);
});

test("a guest that says that it cannot run code makes guests unavailable at once", () => {
  const health = new GuestStartHealth();
  health.onFailure("no Landlock", true);
  expect(seen(health)).toEqual({
    ...fresh,
    ...{ unavailable: true, failing: true, delayMs: 100, reason: "no Landlock" },
  });
  health.onFailure("no Landlock", false);
  expect([health.unavailable, health.delayMs]).toEqual([true, 800]);
});

test("a guest that starts ends the failures, and tells what its confinement lacks", () => {
  const health = new GuestStartHealth();
  for (let times = 0; times < 3; times += 1) health.onFailure("no room", false);
  now += 30_000;
  health.onSuccess("no Landlock");
  const ready = { ...fresh, ready: true };
  expect(seen(health)).toEqual({ ...ready, confinementGap: "no Landlock" });
  health.onSuccess(undefined);
  expect(seen(health)).toEqual(ready);
  health.onFailure("no room", false);
  expect(seen(health)).toEqual({ ...ready, failing: true, delayMs: 100, reason: "no room" });
});

const error = (code: string, path?: string) =>
  Object.assign(new Error(`${code}: spawn`), { code, path });
const crash = new GuestEndedError("crash");
const exit = (code: number | null) => ({ ended: { code, signal: null }, stderr: " oops\n" });

test.each([
  [
    "another file is missing",
    error("ENOENT", "/other"),
    "the system makes no process: ENOENT: spawn",
  ],
  [
    "another file may not run",
    error("EACCES", "/other"),
    "the system makes no process: EACCES: spawn",
  ],
  ["the shell cannot be read", error("EIO", "/bin/sh"), "the system makes no process: EIO: spawn"],
  ["no file can be opened", error("ENFILE"), "no file descriptors are left"],
])("a guest without a process says why if %s", (_, cause, said) => {
  expect(describeStartFailure(cause, undefined)).toBe(said);
});

test.each([
  ["its program cannot run", crash, exit(126), "they cannot be run (code 126): oops"],
  ["it ends with a code below", crash, exit(125), "they end with code 125: oops"],
  ["it ends with a code above", crash, exit(128), "they end with code 128: oops"],
  ["it ends as if all were well", crash, exit(0), "they end with code 0: oops"],
  ["it ends without a cause", crash, exit(null), "they end at once: oops"],
  ["it has not ended", crash, { ended: undefined, stderr: "" }, "they end at once"],
  [
    "it takes too much memory",
    new GuestEndedError("memory"),
    exit(1),
    "they are over their memory at once",
  ],
  ["the server has a fault", new Error("a defect"), exit(1), "a defect"],
])("a guest that does not start says why if %s", (_, cause, guest, said) => {
  expect(describeStartFailure(cause, guest)).toBe(said);
});

test("a failed start shows the first 300 characters that the guest printed", () => {
  const failed = { ...exit(1), stderr: `a\n\t b${"x".repeat(400)}` };
  expect(describeStartFailure(crash, failed)).toBe(`they end with code 1: a b${"x".repeat(297)}`);
  expect(describeStartFailure(crash, { ...failed, stderr: " \n" })).toBe("they end with code 1");
});

test("the state of the sandbox has the missing confinement of whichever language lacks a part", () => {
  const [javascript, python] = [new GuestStartHealth(), new GuestStartHealth()];
  const statusOf = (insecure = true) => sandboxStatus([javascript, python], insecure);
  expect(statusOf()).toEqual({ state: "starting", insecure: true });
  python.onFailure("no room", false);
  expect(statusOf(false)).toEqual({ state: "starting", reason: "no room", insecure: false });
  javascript.onSuccess(undefined);
  expect(statusOf()).toEqual({ state: "ready", insecure: false });
  python.onSuccess("no Landlock");
  expect(statusOf()).toEqual({ state: "ready", reason: "no Landlock", insecure: true });
  javascript.onFailure("no memory", true);
  expect(statusOf()).toEqual({ state: "unavailable", reason: "no memory", insecure: true });
});
