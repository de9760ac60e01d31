import { expect, test } from "bun:test";
import { createTurns, mapAtOnce } from "../../src/publishing/turns.ts";

test("turns on one key follow each other, another key does not wait", async () => {
  const inTurn = createTurns();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work =
    (name: string, until: Promise<void> = Promise.resolve()) =>
    async () => {
      seen.push(`${name} begins`);
      await until;
      seen.push(`${name} ends`);
    };
  const first = inTurn("a", work("first", gate.promise));
  const second = inTurn("a", work("second"));
  await inTurn("b", work("other"));
  gate.resolve();
  await Promise.all([first, second]);
  expect(seen).toEqual([
    "first begins",
    "other begins",
    "other ends",
    "first ends",
    "second begins",
    "second ends",
  ]);
});

test("a failed turn fails its caller only", async () => {
  const inTurn = createTurns();
  const failed = inTurn("a", () => Promise.reject(new Error("no")));
  const after = inTurn("a", async () => "yes");
  expect(failed).rejects.toThrow("no");
  expect(await after).toBe("yes");
});

test("at most so many calls are under way, and results keep their places", async () => {
  let [under, most] = [0, 0];
  const double = async (item: number) => {
    most = Math.max(most, ++under);
    await Bun.sleep(item % 3);
    under--;
    return item * 2;
  };
  const items = Array.from({ length: 20 }, (_, index) => index);
  expect(await mapAtOnce(items, 4, double)).toEqual(items.map((item) => item * 2));
  expect(most).toBe(4);
  expect(await mapAtOnce([], 4, double)).toEqual([]);
});
