import { expect, test } from "bun:test";
import { ApiError } from "../../src/errors.ts";
import { whileUnavailable } from "../../src/store/while-unavailable.ts";

test("a call is repeated while it is unavailable, and only then", async () => {
  const errors = [
    new ApiError("unavailable", "Slow"),
    new ApiError("unavailable", "Slow again"),
    new ApiError("conflict", "Taken"),
  ];
  const call = () => Promise.reject(errors.shift());
  await expect(whileUnavailable(call)).rejects.toThrow("Taken");
  expect(errors).toEqual([]);
  expect(await whileUnavailable(async () => 7)).toBe(7);
});

test("a call that stays unavailable is repeated for a bounded time", async () => {
  let calls = 0;
  const call = () => {
    calls++;
    return Promise.reject(new ApiError("unavailable", "Away"));
  };
  await expect(whileUnavailable(call, 300)).rejects.toThrow("Away");
  expect(calls).toBeGreaterThan(1);
});
