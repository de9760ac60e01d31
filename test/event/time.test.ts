import { expect, test } from "bun:test";
import fc from "fast-check";
import { writeIsoTime } from "../../src/event/time.ts";

function isoTime(time: number): string {
  const into = Buffer.alloc(40);
  return into.toString("latin1", 3, writeIsoTime(time, into, 3));
}

test("a time is formatted as Date formats it", () => {
  const lastOfYear9999 = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  for (const time of [0, 1, 951_782_399_999, 951_782_400_000, 4_107_542_399_999, lastOfYear9999]) {
    expect(isoTime(time)).toBe(new Date(time).toISOString());
  }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: lastOfYear9999 }), (time) => {
      expect(isoTime(time)).toBe(new Date(time).toISOString());
    }),
    { numRuns: 20_000 },
  );
});
