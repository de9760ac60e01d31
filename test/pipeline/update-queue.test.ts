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

test("an update that throws ends the waiting ones, and a later call begins again", async () => {
  const errors: unknown[] = [];
  let isFailing = false;
  let updates = 0;
  const queue = new UpdateQueue(
    () => {
      if (isFailing) throw new Error("the catalog cannot be read");
      updates += 1;
    },
    (error) => errors.push(error),
  );
  queue.add(idsTo(500));
  isFailing = true;
  await until(() => queue.isEmpty);
  expect({ updates, errors: errors.length }).toEqual({ updates: 400, errors: 1 });
  isFailing = false;
  queue.add(idsTo(500));
  await until(() => updates === 900);
});
