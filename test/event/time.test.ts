import { expect, test } from "bun:test";
import fc from "fast-check";
import { timeAt } from "../../src/event/sdk/iso-time.ts";
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

test("a day after the last of its month is no time", () => {
  const read = (day: string) => {
    const text = Buffer.from(`"${day}"`);
    return timeAt(text, 0, text.length);
  };
  for (const year of [2023, 2024]) {
    for (let month = 1; month <= 12; month++) {
      const prefix = `${year}-${String(month).padStart(2, "0")}`;
      const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
      expect(read(`${prefix}-${last}`)).toBe(Date.UTC(year, month - 1, last));
      expect(read(`${prefix}-${last + 1}`)).toBeUndefined();
    }
  }
});
