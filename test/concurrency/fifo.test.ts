import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fifo } from "../../src/concurrency/fifo.ts";

test("a queue gives back what it took, in its order", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer())), (steps) => {
      const queue = new Fifo<number>();
      const model: number[] = [];
      for (const step of steps) {
        if (step === null) expect(queue.shift()).toBe(model.shift());
        else {
          queue.push(step);
          model.push(step);
        }
        expect([queue.length, queue.first]).toEqual([model.length, model[0]]);
      }
    }),
  );
});

test("items that are put back come first, in their order", () => {
  const queue = new Fifo<number>();
  for (const item of [1, 2, 3, 4]) queue.push(item);
  expect([queue.shift(), queue.shift()]).toEqual([1, 2]);
  queue.unshift([]);
  queue.unshift([8, 9]);
  expect(queue.length).toBe(4);
  expect([1, 2, 3, 4, 5].map(() => queue.shift())).toEqual([8, 9, 3, 4, undefined]);
});
