import { expect, test } from "bun:test";
import fc from "fast-check";
import { SequenceCounts } from "../../src/pipeline/reading/sequence-counts.ts";
import { runs } from "../tier.ts";

test("sequence counts hold what was added and not removed, whatever the order", () => {
  // Numbers of a Kafka partition are far apart, and larger than 32 bits.
  const sequence = fc.oneof(
    fc.nat(300),
    fc.integer({ min: 2 ** 40 - 5, max: 2 ** 40 + 5 }),
    fc.constant(Number.MAX_SAFE_INTEGER),
  );
  const steps = fc.array(fc.record({ isAdded: fc.boolean(), sequence }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const counts = new SequenceCounts();
      const model = new Map<number, number>();
      for (const { isAdded, sequence } of all) {
        const count = model.get(sequence) ?? 0;
        if (isAdded) counts.add(sequence);
        else expect(counts.remove(sequence)).toBe(count > 0);
        const next = isAdded ? count + 1 : Math.max(0, count - 1);
        if (next === 0) model.delete(sequence);
        else model.set(sequence, next);
        const expected = [...model.keys()].sort((a, b) => a - b);
        expect(counts.lowest).toBe(expected[0] ?? Number.POSITIVE_INFINITY);
        expect(counts.ascending()).toEqual(expected);
      }
    }),
    { numRuns: runs(200, 5_000) },
  );
});
