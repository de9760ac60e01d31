import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { until } from "../until.ts";
import { IdleClock } from "./idle-clock.ts";

const status = readFileSync("/proc/self/status", "latin1");
/** The processor of all programs here. */
const processor = /^Cpus_allowed_list:\t(\d+)/m.exec(status)![1]!;

/** A program that computes for some milliseconds of processor time. */
const compute = (ms: number) =>
  spawn("taskset", [
    ...["-c", processor, process.execPath, "-e"],
    `while (process.cpuUsage().user + process.cpuUsage().system < ${ms * 1_000});`,
  ]);

test("the clock of a process stands while the process waits for a processor", async () => {
  const others = [compute(60_000), compute(60_000)];
  const child = compute(300);
  const clock = new IdleClock(child.pid!);
  const began = performance.now();
  const look = setInterval(() => clock.read(), 50);
  await once(child, "exit");
  clearInterval(look);
  const passed = performance.now() - began;
  for (const other of others) other.kill("SIGKILL");
  expect(clock.read()).toBeGreaterThan(200);
  expect(clock.read()).toBeLessThan(passed / 2);
}, 300_000);

test("the clock of a process advances while the process sleeps", async () => {
  const child = spawn("sleep", ["300"]);
  const clock = new IdleClock(child.pid!);
  try {
    await until(() => clock.read() > 100, "the clock to advance", 60_000);
  } finally {
    child.kill("SIGKILL");
  }
}, 300_000);
