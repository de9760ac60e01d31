import { expect, test } from "bun:test";
import { clockCorrection, clockWarnings } from "../../src/cluster/membership/node-clock.ts";
import { CLOCK_ERROR_MS_MAX } from "../../src/settings/limits.ts";

test("ages are corrected by the last known error of the clock, unless it is small", () => {
  let error: number | undefined;
  const correction = clockCorrection({ clockErrorMs: () => error });
  const errors = [undefined, 60_000, undefined, CLOCK_ERROR_MS_MAX, -60_000, -CLOCK_ERROR_MS_MAX];
  const corrections = errors.map((it) => {
    error = it;
    return correction();
  });
  expect(corrections).toEqual([0, 60_000, 60_000, 0, -60_000, 0]);
  error = CLOCK_ERROR_MS_MAX + 1;
  expect(correction()).toBe(CLOCK_ERROR_MS_MAX + 1);
});

test("a node whose clock differs much from the brokers' warns of it", () => {
  const sentence = (what: string) =>
    `The clock of node n1 is ${what} the brokers'; check its NTP service`;
  const table: [errorMs: number | undefined, warnings: string[]][] = [
    [undefined, []],
    [CLOCK_ERROR_MS_MAX, []],
    [-CLOCK_ERROR_MS_MAX, []],
    [59_600, [sentence("60 s ahead of")]],
    [-59_600, [sentence("60 s behind")]],
  ];
  for (const [errorMs, warnings] of table) expect(clockWarnings("n1", errorMs)).toEqual(warnings);
});
