import { expect, test } from "bun:test";
import { FlushPace } from "../../src/log/flush-pace.ts";

const turn = () => new Promise(setImmediate);
const NEVER_MS = 1_000_000;

/** Whether a batch of `count` goes, asked after a turn of the event loop. */
async function goes(pace: FlushPace, count: number) {
  const state = { gone: false };
  pace.due(count).then(() => {
    state.gone = true;
  });
  await turn();
  return state;
}

test("the first batch goes at once", async () => {
  expect((await goes(new FlushPace(NEVER_MS), 1)).gone).toBe(true);
});

test("a batch waits for the records that were under way before, and for no more", async () => {
  const pace = new FlushPace(NEVER_MS);
  pace.started();
  pace.ended(2, 3);
  const batch = await goes(pace, 3);
  expect(batch.gone).toBe(false);
  pace.grown(4);
  await turn();
  expect(batch.gone).toBe(false);
  pace.grown(5);
  await turn();
  await turn();
  expect(batch.gone).toBe(true);
});

test("a single client never waits", async () => {
  const pace = new FlushPace(NEVER_MS);
  for (let i = 0; i < 3; i++) {
    expect((await goes(pace, 1)).gone).toBe(true);
    pace.started();
    pace.ended(1, 0);
  }
});

test("a batch goes after the interval, whether its records came or not", async () => {
  const pace = new FlushPace(1);
  pace.started();
  pace.ended(50, 50);
  await pace.due(1);
});

test("nothing waits when the last write took longer than the interval", async () => {
  const pace = new FlushPace(0);
  pace.started();
  pace.ended(50, 50);
  expect((await goes(pace, 1)).gone).toBe(true);
});
