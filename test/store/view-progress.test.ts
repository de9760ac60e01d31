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

test("calls that wait for a position reject when the view reads no further, and so do later ones", async () => {
  const progress = new ViewProgress(2, true);
  const calls = [waiting(progress, 3), waiting(progress, 9)];
  progress.fail(new Error("newer"));
  const later = [waiting(progress, 3), waiting(progress, 2)];
  await Bun.sleep(0);
  expect(calls.map((call) => call.outcome)).toEqual(["newer", "newer"]);
  expect(later.map((call) => call.outcome)).toEqual(["newer", "reached"]);
});
