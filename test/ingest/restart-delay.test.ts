import { expect, test } from "bun:test";
import { RestartDelay } from "../../src/ingest/supervisor/restart-delay.ts";

test("the delay of a restart doubles with each early death, and is the shortest after a life of 10 s", () => {
  const delay = new RestartDelay();
  const lives = [0, 9_999, 9_999, 10_000, 0, 0, ...Array(8).fill(0), 60_000];
  expect(lives.map((ms) => delay.after(ms))).toEqual([
    ...[50, 100, 200, 50, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 50],
  ]);
});
