import { expect, test } from "bun:test";
import nodeCrypto from "node:crypto";
import { withoutChance } from "../../../src/sandbox/guest/python/without-chance.ts";

/** What Pyodide may ask for that differs from one build to the next. */
function chances() {
  const bytes = [new Uint8Array(4), new Uint8Array(8)] as const;
  crypto.getRandomValues(bytes[0]);
  // Only a part of the memory is to be filled.
  nodeCrypto.randomFillSync(bytes[1].subarray(2, 6));
  return {
    date: Date.now(),
    offset: new Date(0).getTimezoneOffset(),
    clock: performance.now(),
    random: Math.random(),
    bytes: bytes.map((it) => [...it]),
  };
}

test("a build without chance sees the same time and random bytes, and ends with the former ones", () => {
  const before = [Date.now, Math.random, performance.now, crypto.getRandomValues];
  const own = Object.hasOwn(performance, "now");
  const builds = [0, 1].map(() => {
    const chance = withoutChance();
    const seen = [chances(), chances()];
    chance[Symbol.dispose]();
    return seen;
  });
  const [first, second] = builds[0]!;
  expect(builds[1]).toEqual(builds[0]!);
  expect(first).toMatchObject({ date: 1_700_000_000_000, offset: 0, clock: 0, random: 0.5 });
  // The generator of the C standard, from the seed 1.
  expect(first!.bytes).toEqual([
    [198, 126, 129, 107],
    [0, 0, 75, 251, 226, 251, 0, 0],
  ]);
  expect(second!.bytes).not.toEqual(first!.bytes);
  expect([Date.now, Math.random, performance.now, crypto.getRandomValues]).toEqual(before);
  expect(Object.hasOwn(performance, "now")).toBe(own);
  expect(Date.now()).not.toBe(1_700_000_000_000);
});
