import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { Registry } from "prom-client";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import { GuestLossBackoff } from "../../../src/sandbox/scheduling/guest-loss-backoff.ts";
import { batch, PATIENCE_MS, program, sandboxWithSpares, shown } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

test("the first losses cost no wait, then each doubles it, up to five seconds", () => {
  const losses = new GuestLossBackoff(2);
  const delays = Array.from({ length: 12 }, () => {
    losses.add(1_000);
    return losses.delayMs(1_000);
  });
  const doubled = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000];
  expect(delays).toEqual([0, 0, ...doubled]);
  expect(losses.delayMs(4_000)).toBe(2_000);
  expect(losses.delayMs(6_000)).toBe(0);
});

test("losses are forgotten one by one", () => {
  const losses = new GuestLossBackoff(1);
  expect(losses.count(0)).toBe(0);
  for (let n = 0; n < 3; n += 1) losses.add(0);
  expect([0, 9_999, 10_000, 29_999, 30_000, 90_000].map((now) => losses.count(now))).toEqual([
    3, 3, 2, 1, 0, 0,
  ]);
  losses.add(25_000);
  expect([losses.count(25_000), losses.delayMs(25_000)]).toEqual([2, 100]);
});

const metrics = new Registry();
const sandbox = sandboxWithSpares({ metrics, limits: { freeLosses: 1 } });
afterAll(() => sandbox.close());

/** Good events between the fatal ones: nothing is to be said against the program as a whole. */
const alternating = program(
  `export const transformEvent = (event) => {
    if (event.fatal) for (const all = []; ; ) all.push(new Array(100_000).fill(all.length));
    return event;
  }`,
  { workspaceId: "alternates" },
);
const events = Array.from({ length: 12 }, (_, n) => ({ n, fatal: n % 2 === 1 }));
const calm = program("export const transformEvent = (event) => event", { workspaceId: "calm" });

const paused = async () =>
  /^pixelmill_workspaces_paused (\d+)$/m.exec(await metrics.metrics())?.[1];

test("code that keeps killing guests between good events waits for the next; others do not", async () => {
  let isOver = false;
  const end = sandbox
    .run(alternating, batch(...events))
    .then(shown, (error: unknown) => error)
    .finally(() => {
      isOver = true;
    });
  while ((await paused()) !== "1" && !isOver) await Bun.sleep(5);
  expect(isOver).toBe(false);
  for (let n = 0; n < 20; n += 1) {
    expect(shown(await sandbox.run(calm, batch({ n })))).toEqual([[{ n }]]);
  }
  expect(isOver).toBe(false);
  await sandbox.close();
  // Its events have no outcome, so none is lost; and closing does not wait for the backoff.
  expect(await end).toBeInstanceOf(SandboxUnavailable);
});
