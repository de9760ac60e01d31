import { expect, test } from "bun:test";
import { replayWithCrash } from "./crash.ts";

test("a replay whose server is killed sends every event in order, and repeats few", async () => {
  const events = 6_000;
  const options = { events, rate: 2_000, aloneMs: 500 };
  const { broken, arrived, repeated, killedAt } = await replayWithCrash(options);
  expect(broken).toEqual([]);
  expect(arrived).toBe(events);
  // The kill must have happened during the replay.
  expect(killedAt).toBeLessThan(events);
  expect(repeated).toBeGreaterThan(0);
});
