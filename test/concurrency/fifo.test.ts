import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fifo } from "../../src/concurrency/fifo.ts";

test("a queue gives items in their order, and first those that are put back", () => {
  const step = fc.oneof(
    fc.constant("shift" as const),
    fc.record({ push: fc.integer() }),
    fc.record({ unshift: fc.array(fc.integer(), { maxLength: 3 }) }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const queue = new Fifo<number>();
      const model: number[] = [];
      for (const step of steps) {
        if (step === "shift") expect(queue.shift()).toBe(model.shift());
        else if ("push" in step) {
          queue.push(step.push);
          model.push(step.push);
        } else {
          queue.unshift(step.unshift);
          model.unshift(...step.unshift);
        }
        expect([queue.length, queue.first]).toEqual([model.length, model[0]]);
      }
    }),
  );
});
