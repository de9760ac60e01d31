import { expect, test } from "bun:test";
import { FollowPace } from "../../src/cluster/ordered-log/follow-pace.ts";

/** Longer than any test. */
const FOREVER_MS = 600_000;

const turn = () => new Promise(setImmediate);

/**
 * Whether the fetch of the entries from `next` on still waits after some turns of the event loop.
 */
async function waits(pace: FollowPace, next: number): Promise<boolean> {
  let isWaiting = true;
  void pace.pause(next).then(() => {
    isWaiting = false;
  });
  for (let n = 0; n < 3; n++) await turn();
  return isWaiting;
}

test("a follower pauses after barriers while its node waits for nothing", async () => {
  expect(await waits(new FollowPace(FOREVER_MS), 5)).toBe(true);
  const read = new FollowPace(FOREVER_MS);
  read.appended(7, true);
  // The entries before its barrier have been fetched.
  expect(await waits(read, 7)).toBe(true);
  read.appended(8, true);
  expect(await waits(read, 7)).toBe(true);
});

test("a follower does not pause before entries that its node waits for", async () => {
  const pace = new FollowPace(FOREVER_MS);
  pace.appended(7, true);
  expect(await waits(pace, 6)).toBe(false);
  pace.appended(8, false);
  expect(await waits(pace, 8)).toBe(false);
  expect(await waits(pace, 9)).toBe(true);
});

test.each([
  ["a barrier after an entry of another node", 9, true],
  ["a change", 8, false],
] as const)("%s ends the pause of its node's follower", async (_, position, isBarrier) => {
  const pace = new FollowPace(FOREVER_MS);
  pace.appended(7, true);
  const paused = pace.pause(8);
  pace.appended(position, isBarrier);
  await paused;
});

test("a pause ends by itself", async () => {
  await new FollowPace(1).pause(0);
});
