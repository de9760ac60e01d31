import { expect, test } from "bun:test";
import { TimeSlicer } from "../../src/concurrency/time-slicer.ts";
import { UpdateQueue } from "../../src/pipeline/lane/update-queue.ts";
import { until } from "./rig.ts";

/** Milliseconds that the slow update of one lane takes. */
const UPDATE_MS = 0.1;

const idsTo = (count: number) => Array.from({ length: count }, (_, n) => `destination ${n}`);

/** A queue that notes what it has updated. `update` is called for each. */
function queueOf(slicer: TimeSlicer, update: (id: string) => void = () => {}) {
  const updated: string[] = [];
  const failed: string[] = [];
  const queue = new UpdateQueue(
    slicer,
    (id) => {
      update(id);
      updated.push(id);
    },
    (_, id) => failed.push(id),
  );
  return { queue, updated, failed };
}

test("the first destinations are updated at once, and many others some at a time", async () => {
  const { queue, updated } = queueOf(new TimeSlicer());
  queue.add(idsTo(20));
  expect({ updated, isEmpty: queue.isEmpty }).toEqual({ updated: idsTo(20), isEmpty: true });
  updated.length = 0;
  queue.add(idsTo(4_000));
  expect({ count: updated.length, isEmpty: queue.isEmpty }).toEqual({ count: 64, isEmpty: false });
  await until(() => queue.isEmpty);
  expect(updated).toEqual(idsTo(4_000));
});

test("partitions that start together leave the event loop free after each slice of any of them", async () => {
  const slicer = new TimeSlicer();
  let current = 0;
  let longest = 0;
  const slow = () => {
    for (const until = performance.now() + UPDATE_MS; performance.now() < until; );
    if (current === 0) setImmediate(() => (current = 0));
    current += 1;
    longest = Math.max(longest, current);
  };
  const partitions = Array.from({ length: 4 }, () => queueOf(slicer, slow));
  for (const { queue } of partitions) {
    queue.add(idsTo(600));
    await new Promise(setImmediate);
  }
  await until(() => partitions.every(({ queue }) => queue.isEmpty));
  for (const { updated } of partitions) expect(updated).toEqual(idsTo(600));
  // A slice reads the clock after 64 items.
  expect(longest).toBeLessThanOrEqual(128);
});

test("destinations that are added while others are updated are updated too", async () => {
  const { queue, updated } = queueOf(new TimeSlicer());
  queue.add(idsTo(500));
  queue.add(["added"]);
  await until(() => queue.isEmpty);
  expect(updated.toSorted()).toEqual([...idsTo(500), "added"].toSorted());
  queue.add(idsTo(500));
  await until(() => queue.isEmpty);
  expect(updated).toHaveLength(1_001);
});

test("an update that throws does not stop those behind it, is reported once, and is tried again", async () => {
  const failing = new Set(["destination 3", "destination 4", "destination 450"]);
  const { queue, updated, failed } = queueOf(new TimeSlicer(), (id) => {
    if (failing.has(id)) throw new Error("the ledger cannot be read");
  });
  queue.add(idsTo(500));
  await until(() => updated.length === 497);
  expect(updated).toEqual(idsTo(500).filter((id) => !failing.has(id)));
  expect(failed).toEqual(["destination 3"]);
  expect(queue.isEmpty).toBe(false);
  failing.delete("destination 4");
  await until(() => updated.length === 498);
  failing.clear();
  await until(() => queue.isEmpty);
  expect(updated.slice(497)).toEqual(["destination 4", "destination 3", "destination 450"]);
  // A destination that fails again is not told again.
  expect(failed).toEqual(["destination 3"]);
  failing.add("destination 5");
  queue.add(["destination 5"]);
  expect(failed).toEqual(["destination 3", "destination 5"]);
  queue.clear();
});
