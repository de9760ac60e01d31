import { expect, test } from "bun:test";
import { revocable } from "../../src/store/revocable-store.ts";
import type { Store } from "../../src/store/store.ts";

test("calls in progress and later ones are rejected once access is revoked, and none before", async () => {
  let closed = 0;
  let changes = 0;
  const never = new Promise<never>(() => {});
  const store = revocable({
    change: (apply: () => number) => (changes++ === 0 ? Promise.resolve(apply()) : never),
    catchUp: () => never,
    close: async () => void closed++,
  } as unknown as Store);
  expect(await store.change(() => 7)).toBe(7);
  const waiting = [store.change(() => 8), store.catchUp()];
  const refusal = "This node has given up its access to the store";
  store.revoke();
  const reasons = (await Promise.allSettled(waiting)).map(
    (it) => Reflect.get(it, "reason").message,
  );
  expect(reasons).toEqual([refusal, refusal]);
  await expect(store.change(() => 9)).rejects.toThrow(refusal);
  await expect(store.catchUp()).rejects.toThrow(refusal);
  expect(changes).toBe(2);
  await store.close();
  expect(closed).toBe(0);
});
