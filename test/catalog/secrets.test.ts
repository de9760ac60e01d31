import { expect, test } from "bun:test";
import {
  hashOf,
  isSecret,
  newSecret,
  newWriteKey,
  sameHash,
  TOKEN_RANDOM_BITS,
} from "../../src/catalog/secrets.ts";

test("a generated secret has its random bits and is accepted as a secret", () => {
  const secret = newSecret();
  expect(secret).toMatch(/^pm_[0-9A-Za-z]{32,}$/);
  expect((secret.length - 3) * Math.log2(62)).toBeGreaterThanOrEqual(TOKEN_RANDOM_BITS);
  expect(isSecret(secret)).toBe(true);
});

test("secrets and write keys do not repeat, and use the whole alphabet evenly", () => {
  const keys = Array.from({ length: 5_000 }, newWriteKey);
  expect(new Set(keys).size).toBe(keys.length);
  const counts = new Map<string, number>();
  for (const letter of keys.join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const expected = keys.join("").length / 62;
  expect(counts.size).toBe(62);
  // About 2,177 of each, with a standard deviation of 46: six of them either way.
  for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(280);
});

test("texts of another form are not accepted as secrets", () => {
  const others = ["", "pm_", `pm_${"a".repeat(31)}`, "a".repeat(40), `pm_${"a".repeat(32)}!`];
  expect(others.filter(isSecret)).toEqual([]);
});

test("hashes are SHA-256 and compare whole", () => {
  expect(hashOf("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sameHash(hashOf("abc"), hashOf("abc"))).toBe(true);
  expect(sameHash(hashOf("abc"), hashOf("abd"))).toBe(false);
  expect(sameHash(hashOf("abc"), "")).toBe(false);
});
