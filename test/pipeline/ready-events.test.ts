import { expect, test } from "bun:test";
import { TRANSFORM_BATCH_EVENTS } from "../../src/pipeline/limits.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { READY_BYTES_MAX, ReadyEvents } from "../../src/pipeline/replays/ready-events.ts";
import { laneEvent } from "./doubles.ts";

const sequenceOf = ({ origin }: LaneEvent) => ("sequence" in origin ? origin.sequence : -1);

/** A buffer with events of these sizes, whose sequence numbers count from 0. */
function readyOf(...sizes: number[]): ReadyEvents {
  const ready = new ReadyEvents();
  for (const [sequence, bytes] of sizes.entries()) {
    ready.push(laneEvent({ bytes, origin: { log: "0", sequence, replayId: "r" } }));
  }
  return ready;
}

const taken = (ready: ReadyEvents, count: number, bytesMax = Number.POSITIVE_INFINITY) =>
  ready.shift(count, bytesMax).map(sequenceOf);

test("events are taken in order, up to a number, and no more than there are", () => {
  const ready = readyOf(1, 1, 1, 1);
  expect(taken(ready, 0)).toEqual([]);
  expect(taken(ready, 1)).toEqual([0]);
  expect(taken(ready, 2)).toEqual([1, 2]);
  expect(ready.length).toBe(1);
  expect(taken(ready, 9)).toEqual([3]);
  expect(taken(ready, 9)).toEqual([]);
});

test("events are taken until their bytes reach the bound, the last one whole", () => {
  const ready = readyOf(10, 10, 10, 10);
  expect(taken(ready, 9, 20)).toEqual([0, 1]);
  expect(taken(ready, 9, 11)).toEqual([2, 3]);
  expect(taken(readyOf(50), 9, 1)).toEqual([0]);
  expect(taken(readyOf(50), 9, 0)).toEqual([]);
});

test("events that were returned are taken first, in the order in which they were read", () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const ready = readyOf(1, 1, 1, 1, 1);
    const first = ready.shift(3, 100);
    for (const index of order) ready.putBack(first[index]!);
    expect(ready.length).toBe(5);
    const again = ready.shift(5, 100);
    expect(again.map(sequenceOf)).toEqual([0, 1, 2, 3, 4]);
    // The lane settles the object that it took, so the one that is taken again is another.
    expect(again[0]).not.toBe(first[0]!);
  }
});

test("the buffer is full at a number of events, or of bytes, and has room once some are taken", () => {
  const count = 2 * TRANSFORM_BATCH_EVENTS;
  const ready = readyOf(...Array.from({ length: count - 1 }, () => 1));
  expect(ready.isFull).toBe(false);
  ready.push(laneEvent({ bytes: 1 }));
  expect(ready.isFull).toBe(true);
  const [event] = ready.shift(1, 100);
  expect(ready.isFull).toBe(false);
  ready.putBack(event!);
  expect(ready.isFull).toBe(true);

  const large = readyOf(1, READY_BYTES_MAX - 2);
  expect(large.isFull).toBe(false);
  large.push(laneEvent({ bytes: 1 }));
  expect(large.isFull).toBe(true);
  const [small] = large.shift(1, 100);
  expect(large.isFull).toBe(false);
  large.putBack(small!);
  expect(large.isFull).toBe(true);
});
