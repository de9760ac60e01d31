import { expect, test } from "bun:test";
import { BrokerClock } from "../../src/kafka/produce-client.ts";

const HOUR = 3_600_000;

test.each([
  ["in step", 0, 1_000, 1_000],
  ["in step, with an hour until the response", 0, 1_000, HOUR],
  ["an hour ahead", HOUR, 10, 20],
  ["an hour behind", -HOUR, 10, 20],
])("a clock %s differs by no more than the answered request proves", (_, error, before, after) => {
  let elapsed = 0;
  const clock = new BrokerClock(() => elapsed);
  expect(clock.errorMs()).toBeUndefined();
  const appendedAt = 1_900_000_000_000;
  clock.note(appendedAt + error - before, appendedAt, appendedAt + error + after);
  const known = clock.errorMs()!;
  expect(Math.abs(known)).toBeLessThanOrEqual(Math.abs(error));
  expect(Math.abs(known)).toBeGreaterThanOrEqual(Math.abs(error) - before - after);
  expect(Math.sign(known)).toBe(Math.sign(error));
  elapsed += HOUR;
  expect(clock.errorMs()).toBeUndefined();
});
