import { expect, test } from "bun:test";
import { ViewProgress } from "../../src/store/ordered/view-progress.ts";

/** Tells the outcome of a call that waits for a position. */
function waiting(progress: ViewProgress, position: number) {
  const told = { outcome: "waits" };
  progress.reach(position).then(
    () => (told.outcome = "reached"),
    (error) => (told.outcome = error.message),
  );
  return told;
}

test("a call that waits for a position resolves when a complete view has reached it", async () => {
  const progress = new ViewProgress(3, true);
  await progress.reach(3);
  const [near, far] = [waiting(progress, 4), waiting(progress, 6)];
  progress.advance(4, false);
  await Bun.sleep(0);
  expect([near.outcome, far.outcome]).toEqual(["waits", "waits"]);
  progress.advance(5, true);
  await Bun.sleep(0);
  expect([near.outcome, far.outcome]).toEqual(["reached", "waits"]);
  expect([progress.next, progress.isComplete]).toEqual([5, true]);
});

test.each([
  ["rejects at once when the view cannot read further", "fail", "newer"],
  ["resolves when the store is closed", "close", "reached"],
] as const)("a call that waits for a position %s", async (_, ending, outcome) => {
  const progress = new ViewProgress(0, true);
  const calls = [waiting(progress, 1), waiting(progress, 9)];
  progress[ending](new Error("newer"));
  await Bun.sleep(0);
  expect(calls.map((call) => call.outcome)).toEqual([outcome, outcome]);
});
