import { expect, test } from "bun:test";
import fc from "fast-check";
import { InvariantError } from "../../src/assert.ts";
import { atMost, FairSemaphore, fewerThanFree } from "../../src/concurrency/fair-semaphore.ts";
import type { Permit } from "../../src/concurrency/permit.ts";

/** Permits that the owner gets without waiting. */
const acquired = (semaphore: FairSemaphore, owner: string) => {
  let count = 0;
  while (semaphore.tryAcquire(owner)) count += 1;
  return count;
};
const { signal } = new AbortController();

test("one owner gets half of the permits, the next a part of the rest, and some stay free", () => {
  const semaphore = new FairSemaphore(100, fewerThanFree);
  expect(acquired(semaphore, "a")).toBe(50);
  expect(acquired(semaphore, "b")).toBe(25);
  expect(acquired(semaphore, "c")).toBe(13);
});

test("waiting owners alternate, each in the order of its calls", async () => {
  const semaphore = new FairSemaphore(1, fewerThanFree);
  const order: string[] = [];
  const permits: Permit[] = [];
  const wait = (owner: string, name: string) =>
    semaphore.acquire(owner, signal).then((permit) => {
      order.push(name);
      permits.push(permit);
    });
  permits.push(await semaphore.acquire("a", signal));
  const all = [wait("a", "a1"), wait("a", "a2"), wait("b", "b1"), wait("b", "b2")];
  while (order.length < all.length) {
    permits.shift()!.release();
    await Bun.sleep(0);
  }
  await Promise.all(all);
  expect(order).toEqual(["a1", "b1", "a2", "b2"]);
});

test("a caller that gives up waiting gets no permit and holds up no other", async () => {
  const semaphore = new FairSemaphore(1, fewerThanFree);
  const first = await semaphore.acquire("a", signal);
  const impatient = new AbortController();
  const gone = semaphore.acquire("b", impatient.signal).catch(() => "gone");
  const next = semaphore.acquire("c", signal);
  impatient.abort();
  expect(await gone).toBe("gone");
  first.release();
  (await next).release();
  expect(acquired(semaphore, "c")).toBe(1);
});

test("a caller that gives up just when it is granted a permit has the permit", async () => {
  const semaphore = new FairSemaphore(1, fewerThanFree);
  const first = semaphore.tryAcquire("a")!;
  const late = new AbortController();
  const waiting = semaphore.acquire("b", late.signal);
  first.release();
  late.abort();
  const permit = await waiting;
  expect(acquired(semaphore, "c")).toBe(0);
  permit.release();
  expect(acquired(semaphore, "c")).toBe(1);
});

test("a caller that has given up before does not wait", async () => {
  const semaphore = new FairSemaphore(1, fewerThanFree);
  semaphore.tryAcquire("a");
  const given = semaphore.acquire("b", AbortSignal.abort(new Error("before")));
  await expect(given).rejects.toThrow("before");
});

test("a permit that is released twice breaks an invariant and frees nothing", () => {
  const semaphore = new FairSemaphore(1, atMost(1));
  const permit = semaphore.tryAcquire("a")!;
  permit.release();
  expect(() => permit.release()).toThrow(InvariantError);
  expect(acquired(semaphore, "a")).toBe(1);
  expect(acquired(semaphore, "b")).toBe(0);
});

test("a rule that admits more than is free breaks an invariant", () => {
  const semaphore = new FairSemaphore(1, () => true);
  semaphore.tryAcquire("a");
  expect(() => semaphore.tryAcquire("b")).toThrow(InvariantError);
});

/** Callers with permits, in the order in which they were granted. */
function callers(semaphore: FairSemaphore) {
  const held: { owner: string; permit: Permit }[] = [];
  return {
    owners: () => held.map(({ owner }) => owner),
    acquire: (owner: string, until = signal) =>
      semaphore.acquire(owner, until).then(
        (permit) => void held.push({ owner, permit }),
        () => {},
      ),
    async release(owner: string) {
      const at = held.findIndex((it) => it.owner === owner);
      for (const { permit } of held.splice(at, 1)) permit.release();
      await settled();
    },
  };
}

const settled = () => Bun.sleep(0);

test("an owner has no more permits than its bound, whatever is free", async () => {
  const { owners, acquire, release } = callers(new FairSemaphore(4, atMost(2)));
  for (const owner of ["a", "a", "a", "b", "a"]) acquire(owner);
  await settled();
  expect(owners()).toEqual(["a", "a", "b"]);
  await release("b");
  expect(owners()).toEqual(["a", "a"]);
  await release("a");
  expect(owners()).toEqual(["a", "a"]);
});

test("owners alternate, and one that is at its bound is passed over", async () => {
  const { owners, acquire, release } = callers(new FairSemaphore(2, atMost(1)));
  for (const owner of ["a", "b", "a", "a", "c", "b"]) acquire(owner);
  await settled();
  expect(owners()).toEqual(["a", "b"]);
  await release("b");
  expect(owners()).toEqual(["a", "c"]);
  await release("a");
  await release("c");
  expect(owners().toSorted()).toEqual(["a", "b"]);
});

test("a permit passes over callers that have given up", async () => {
  const semaphore = new FairSemaphore(1, atMost(1));
  const { owners, acquire, release } = callers(semaphore);
  const leaving = new AbortController();
  acquire("a");
  const gone = acquire("b", leaving.signal);
  acquire("c");
  leaving.abort(new Error("left"));
  await gone;
  await release("a");
  expect(owners()).toEqual(["c"]);
  await release("c");
  await expect(semaphore.acquire("b", leaving.signal)).rejects.toThrow("left");
  expect(acquired(semaphore, "d")).toBe(1);
});

test("permits are never granted twice, nor kept from an owner that may have them", async () => {
  const step = fc.record({ owner: fc.constantFrom("a", "b", "c"), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { owners, acquire, release } = callers(new FairSemaphore(3, atMost(2)));
      const wanted = { a: 0, b: 0, c: 0 };
      const held = (owner: string) => owners().filter((it) => it === owner).length;
      for (const { owner, leaves } of steps) {
        if (!leaves) {
          wanted[owner as "a"] += 1;
          acquire(owner);
        } else if (held(owner) > 0) {
          wanted[owner as "a"] -= 1;
          await release(owner);
        }
        await settled();
        expect(owners().length).toBeLessThanOrEqual(3);
        for (const one of ["a", "b", "c"] as const) {
          expect(held(one)).toBeLessThanOrEqual(2);
          const waits = wanted[one] > held(one);
          expect(waits && owners().length < 3 && held(one) < 2).toBe(false);
        }
      }
    }),
    { numRuns: 60 },
  );
});
