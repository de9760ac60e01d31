import { afterEach, expect, test } from "bun:test";
import { LoopLateness } from "../../src/concurrency/loop-lateness.ts";
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
