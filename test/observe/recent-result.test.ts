import { expect, test } from "bun:test";
import { recentResult } from "../../src/observe/recent-result.ts";

test("a result is computed once for all callers meanwhile, and is reused for a time", async () => {
  let now = 0;
  let made = 0;
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const text = recentResult(
    1_000,
    async () => {
      const number = made++;
      await gates[number]!.promise;
      return number;
    },
    () => now,
  );
  const first = [text(), text()];
  now += 5_000;
  first.push(text());
  gates[0]!.resolve();
  expect(await Promise.all(first)).toEqual([0, 0, 0]);
  now += 999;
  expect(await text()).toBe(0);
  now += 1;
  gates[1]!.resolve();
  expect([await text(), made]).toEqual([1, 2]);
});

test("an error is not kept", async () => {
  let calls = 0;
  const text = recentResult(1_000, async () => {
    if (calls++ === 0) throw new Error("EIO");
    return "text";
  });
  await expect(text()).rejects.toThrow("EIO");
  expect(await text()).toBe("text");
});
