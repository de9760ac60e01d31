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

function read(text: string): number | undefined {
  const json = Buffer.from(`"${text}"`);
  return timeAt(json, 0, json.length);
}

test("a text with another character in place of a digit is no time", () => {
  const time = "2026-11-20T07:31:05.123+01:00";
  expect(read(time)).toBe(Date.UTC(2026, 10, 20, 6, 31, 5, 123));
  for (const [at, char] of [...time].entries()) {
    if (!/[0-9]/.test(char)) continue;
    // The characters before "0" and after "9".
    for (const other of "/:") {
      const text = `${time.slice(0, at)}${other}${time.slice(at + 1)}`;
      expect([text, read(text)]).toEqual([text, undefined]);
    }
  }
});

test("a time ends with its text, whatever follows", () => {
  const time = "2026-11-20T07:31:05.1";
  for (const next of ["0Z", ":00", "Z"]) {
    const bytes = Buffer.from(`"${time}"${next}`);
    expect(timeAt(bytes, 0, time.length + 2)).toBe(Date.UTC(2026, 10, 20, 7, 31, 5, 100));
  }
});

test("a day after the last of its month is no time", () => {
  for (const year of [2023, 2024]) {
    for (let month = 1; month <= 12; month++) {
      const prefix = `${year}-${String(month).padStart(2, "0")}`;
      const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
      expect(read(`${prefix}-${last}`)).toBe(Date.UTC(year, month - 1, last));
      expect(read(`${prefix}-${last + 1}`)).toBeUndefined();
    }
  }
});
