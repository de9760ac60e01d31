import { expect, test } from "bun:test";
import { KeyedMutex } from "../../src/concurrency/keyed-mutex.ts";
import { pooledMap } from "../../src/concurrency/pooled-map.ts";

test("calls with one key run one after another, another key does not wait", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work =
    (name: string, until: Promise<void> = Promise.resolve()) =>
    async () => {
      seen.push(`${name} begins`);
      await until;
      seen.push(`${name} ends`);
    };
  const first = mutex.run("a", work("first", gate.promise));
  const second = mutex.run("a", work("second"));
  await mutex.run("b", work("other"));
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

test("a call waits for all calls before it, also when the first of them has ended", async () => {
  const mutex = new KeyedMutex();
  const gate = Promise.withResolvers<void>();
  const ended: string[] = [];
  const first = mutex.run("a", async () => {});
  const second = mutex.run("a", () => gate.promise.then(() => void ended.push("second")));
  await first;
  const third = mutex.run("a", async () => void ended.push("third"));
  await Bun.sleep(0);
  gate.resolve();
  await Promise.all([second, third]);
  expect(ended).toEqual(["second", "third"]);
});

test("a call that fails fails its own caller only", async () => {
  const mutex = new KeyedMutex();
  const failed = mutex.run("a", () => Promise.reject(new Error("no")));
  const after = mutex.run("a", async () => "yes");
  await expect(failed).rejects.toThrow("no");
  expect(await after).toBe("yes");
});

test("a pooled map keeps to its concurrency and to the order of the items", async () => {
  let [under, most] = [0, 0];
  const double = async (item: number) => {
    most = Math.max(most, ++under);
    await Bun.sleep(item % 3);
    under--;
    return item * 2;
  };
  const items = Array.from({ length: 20 }, (_, index) => index);
  expect(await pooledMap(items, 4, double)).toEqual(items.map((item) => item * 2));
  expect(most).toBe(4);
  expect(await pooledMap([], 4, double)).toEqual([]);
});
