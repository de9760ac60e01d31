import { afterEach, expect, onTestFinished, spyOn, test } from "bun:test";
import { LoopLateness } from "../../src/observe/loop-lateness.ts";
import { holds } from "../until.ts";

let lateness: LoopLateness;
afterEach(() => lateness.close());

test("an event loop that stands still is late by that time, also while it lasts", async () => {
  lateness = new LoopLateness();
  await Bun.sleep(150);
  Bun.sleepSync(700);
  // No timer has run since.
  expect(lateness.recentMs()).toBeGreaterThan(500);
  await holds(150, () => expect(lateness.recentMs()).toBeGreaterThan(500));
});

test("the largest lateness is known for 5 s, and forgotten after 10 s", () => {
  const start = 60_000;
  let now = start;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  lateness = new LoopLateness();
  const known = new Map<number, number>();
  for (const [from, to] of [[100], [400, 5_000], [5_100, 10_100], [10_200]] as const) {
    for (let at: number = from; at <= (to ?? from); at += 100) {
      now = start + at;
      known.set(at, lateness.recentMs());
    }
  }
  expect([...known].filter(([, ms]) => ms === 0).map(([at]) => at)).toEqual([100, 10_200]);
  expect(new Set(known.values())).toEqual(new Set([0, 200]));
});
