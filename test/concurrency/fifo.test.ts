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
