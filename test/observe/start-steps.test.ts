import { expect, test } from "bun:test";
import { StartSteps } from "../../src/observe/start-steps.ts";
import { holds, until } from "../until.ts";

test("a start that waits names its step, again and again, until the step ends", async () => {
  const told: unknown[] = [];
  const steps = new StartSteps({ warn: (...line: unknown[]) => told.push(line) } as never, 20);
  const reading = Promise.withResolvers<string>();
  const read = steps.run("read the catalog", () => reading.promise);
  await until(() => told.length >= 2);
  expect(told[0]).toEqual([{ step: "read the catalog", seconds: 0 }, "the start is waiting"]);
  reading.resolve("the catalog");
  expect(await read).toBe("the catalog");
  const count = told.length;
  await steps.run("listen", () => {});
  await holds(60, () => expect(told.length).toBe(count));
  expect(Object.keys(steps.durations())).toEqual(["read the catalog", "listen"]);
  expect(steps.durations()["read the catalog"]).toBeGreaterThan(20);
});

test("a step that fails rejects with its error, and is not waited for any more", async () => {
  const told: unknown[] = [];
  const steps = new StartSteps({ warn: (...line: unknown[]) => told.push(line) } as never, 10);
  const failed = steps.run("reach the brokers", () => Promise.reject(new Error("No broker")));
  await expect(failed).rejects.toThrow("No broker");
  await holds(40, () => expect(told).toEqual([]));
});
