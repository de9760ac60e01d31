import { expect, spyOn, test } from "bun:test";
import { TimeSlicer } from "../../src/concurrency/time-slicer.ts";

const never = new AbortController().signal;
const count = (to: number) => Array.from({ length: to }, (_, index) => index);

test("all items are processed once, in their order", async () => {
  for (const items of [[], count(1), count(64), count(65), count(1_000)]) {
    const done: number[] = [];
    await new TimeSlicer().each(items, (item) => done.push(item), never);
    expect(done).toEqual(items);
  }
});

test("the event loop runs between two slices of long work", async () => {
  const clock = spyOn(performance, "now");
  let now = 0;
  clock.mockImplementation(() => now);
  try {
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns++;
      if (!isDone) setTimeout(turn, 0);
    };
    setTimeout(turn, 0);
    const seen = new Set<number>();
    const work = () => {
      now += 1 / 64;
      seen.add(turns);
    };
    // Ten slices of 2 ms by the clock of the test.
    await new TimeSlicer().each(count(20 * 64), work, never);
    isDone = true;
    expect(seen.size).toBe(10);
  } finally {
    clock.mockRestore();
  }
});

test("callers of one slicer take turns, and one that fails does not stop the others", async () => {
  const slicer = new TimeSlicer();
  const order: string[] = [];
  const clock = spyOn(performance, "now");
  let now = 0;
  clock.mockImplementation(() => now);
  try {
    const work = (name: string) => () => {
      now += 2;
      if (order.at(-1) !== name) order.push(name);
    };
    const fails = slicer.run(() => {
      throw new Error("No");
    });
    const both = [
      slicer.each(count(128), work("a"), never),
      slicer.each(count(128), work("b"), never),
    ];
    await expect(fails).rejects.toThrow("No");
    await Promise.all(both);
    expect(order).toEqual(["a", "b", "a", "b"]);
    expect(await slicer.run(() => 7)).toBe(7);
  } finally {
    clock.mockRestore();
  }
});

test("the event loop is free after a slice for as long as the slice took", async () => {
  let now = 5_000;
  const pauses: unknown[] = [];
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  const timer = spyOn(globalThis, "setTimeout").mockImplementation(((
    end: () => void,
    ms: number,
  ) => {
    pauses.push(ms);
    end();
  }) as never);
  try {
    const slicer = new TimeSlicer();
    for (const ms of [7, 0, 3]) {
      await slicer.run(() => {
        now += ms;
      });
    }
  } finally {
    clock.mockRestore();
    timer.mockRestore();
  }
  expect(pauses).toEqual([7, 0, 3]);
});

test("work that is aborted ends with the reason of the abort", async () => {
  const stop = new AbortController();
  let done = 0;
  const clock = spyOn(performance, "now");
  let now = 0;
  clock.mockImplementation(() => now);
  try {
    const work = () => {
      done++;
      now += 2;
      stop.abort(new Error("The reader has gone"));
    };
    const each = new TimeSlicer().each(count(1_000), work, stop.signal);
    await expect(each).rejects.toThrow("The reader has gone");
    expect(done).toBe(64);
  } finally {
    clock.mockRestore();
  }
});
