import { expect, test } from "bun:test";
import { UpdateQueue } from "../../src/pipeline/lane/update-queue.ts";
import { until } from "./rig.ts";

const idsTo = (count: number) => Array.from({ length: count }, (_, n) => `destination ${n}`);

test("the first destinations are updated at once, and many others some at a time", async () => {
  const updated: string[] = [];
  const queue = new UpdateQueue(
    (id) => void updated.push(id),
    (error) => {
      throw error;
    },
  );
  queue.add(idsTo(20));
  expect({ updated, isEmpty: queue.isEmpty }).toEqual({ updated: idsTo(20), isEmpty: true });
  updated.length = 0;
  queue.add(idsTo(4_000));
  expect({ count: updated.length, isEmpty: queue.isEmpty }).toEqual({ count: 400, isEmpty: false });
  const steps = new Set<number>();
  while (!queue.isEmpty) {
    steps.add(updated.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(steps.size).toBeGreaterThanOrEqual(8);
  expect(updated).toEqual(idsTo(4_000));
});

test("destinations behind one whose update throws are updated, and each slice tells one error", async () => {
  const failed: string[] = [];
  const updated: string[] = [];
  const failing = new Set(["destination 3", "destination 4", "destination 450"]);
  const queue = new UpdateQueue(
    (id) => {
      if (failing.has(id)) throw new Error("the ledger cannot be read");
      updated.push(id);
    },
    (_, id) => failed.push(id),
  );
  queue.add(idsTo(500));
  await until(() => updated.length === 497);
  expect(updated).toEqual(idsTo(500).filter((id) => !failing.has(id)));
  expect(failed).toEqual(["destination 3", "destination 450"]);
  expect(queue.isEmpty).toBe(false);
  failing.delete("destination 4");
  await until(() => updated.length === 498);
  failing.clear();
  await until(() => queue.isEmpty);
  expect(updated.slice(497)).toEqual(["destination 4", "destination 3", "destination 450"]);
  // A destination that fails again is not told again.
  expect(failed.length).toBe(2);
});
