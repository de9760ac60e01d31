import { expect, spyOn, test } from "bun:test";
import { countOf, timeOf } from "../../src/cli/client/time-flag.ts";
import { StartError } from "../../src/errors.ts";

const NOW = Date.UTC(2026, 1, 16, 1, 11);
const time = (from: unknown) => timeOf({ from }, "from");

test("a time is one of ISO 8601, or so much before now", () => {
  const now = spyOn(Date, "now").mockReturnValue(NOW);
  try {
    for (const [text, expected] of [
      ["2026-02-16T01:11:00Z", "2026-02-16T01:11:00.000Z"],
      ["2026-02-16T03:11:00.5+02:00", "2026-02-16T01:11:00.500Z"],
      ["2026-02-16", "2026-02-16T00:00:00.000Z"],
      ["2026-02", "2026-02-01T00:00:00.000Z"],
      ["90s", "2026-02-16T01:09:30.000Z"],
      ["30m", "2026-02-16T00:41:00.000Z"],
      ["2h", "2026-02-15T23:11:00.000Z"],
      ["7d", "2026-02-09T01:11:00.000Z"],
    ]) {
      expect([text, time(text)]).toEqual([text, expected]);
    }
  } finally {
    now.mockRestore();
  }
  expect(time(undefined)).toBeUndefined();
});

test.each(["7", "30", "2026", "Feb 16", "02/03/2026", "2w", "-2h", "2 h", "1234567d", "", "x2h"])(
  "the time %j is refused, rather than taken for another one",
  (text) => {
    const form = "a time such as 2026-02-16T01:11:00Z, 30m, 2h or 7d";
    expect(() => time(text)).toThrow(new StartError(`Expected --from as ${form}`));
  },
);

test("a count is a whole number from 1 on", () => {
  expect([1, "1", "250", undefined].map((count) => countOf({ count }, "count"))).toEqual([
    ...[1, 1, 250, undefined],
  ]);
  for (const count of ["0", "-1", "1.5", "x", "", "9007199254740993"]) {
    expect(() => countOf({ count }, "count")).toThrow(
      new StartError("Expected --count as a whole number from 1 on"),
    );
  }
});
