import { expect, test } from "bun:test";
import { commitDelayMs } from "../../src/pipeline/lane/lane-committer.ts";

test("lanes commit to shared ledgers at common times, and to a ledger of one server soon", () => {
  const now = 1_900_000_000_000;
  for (const after of [0, 1, 137, 499]) {
    expect(now + after + commitDelayMs(true, now + after)).toBe(now + 500);
    expect(commitDelayMs(false, now + after)).toBe(50);
  }
  expect(commitDelayMs(true, now + 500)).toBe(500);
});
