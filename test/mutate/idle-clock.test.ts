import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { until } from "../until.ts";
import { IdleClock } from "./idle-clock.ts";

/** Programs that compute for 100 ms of processor time, concurrently. */
const compute = (count: number) =>
  Array.from({ length: count }, () =>
    spawn(process.execPath, [
      "-e",
      "while (process.cpuUsage().user + process.cpuUsage().system < 100_000);",
    ]),
  );

test("the clock of a process stands while the process waits for a processor", async () => {
  const children = compute(4 * navigator.hardwareConcurrency);
  const clock = new IdleClock(children[0]!.pid!);
  const began = performance.now();
  const look = setInterval(() => clock.read(), 50);
  await once(children[0]!, "exit");
  clearInterval(look);
  const passed = performance.now() - began;
  for (const child of children) child.kill("SIGKILL");
  expect(clock.read()).toBeGreaterThan(60);
  expect(clock.read()).toBeLessThan(passed / 2);
}, 300_000);

test("the clock of a process advances while the process sleeps", async () => {
  const child = spawn("sleep", ["60"]);
  const clock = new IdleClock(child.pid!);
  await until(() => clock.read() > 100, "the clock to advance");
  child.kill("SIGKILL");
});
