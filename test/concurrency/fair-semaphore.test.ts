import { expect, test } from "bun:test";
import fc from "fast-check";
import { FairSemaphore, leavingSome, upTo } from "../../src/concurrency/fair-semaphore.ts";

const { signal } = new AbortController();
const taken = (places: FairSemaphore, owner: string) => {
  let count = 0;
  while (places.tryTake(owner)) count += 1;
  return count;
};

test("one owner gets half of the places, the next a part of the rest, and some are left", () => {
  const places = new FairSemaphore(100, leavingSome);
  expect(taken(places, "a")).toBe(50);
  expect(taken(places, "b")).toBe(25);
  for (const owner of ["c", "d", "e"]) expect(taken(places, owner)).toBeGreaterThan(0);
});

test("owners that wait take turns, each in the order in which it came", async () => {
  const places = new FairSemaphore(2, leavingSome);
  const order: string[] = [];
  const take = (owner: string, name: string) =>
    places.take(owner, signal).then(() => void order.push(name));
  await places.take("a", signal);
  const waiting = [take("a", "a1"), take("a", "a2"), take("b", "b1"), take("c", "c1")];
  for (const owner of ["a", "b", "a", "c"]) {
    await Bun.sleep(0);
    places.leave(owner);
  }
  await Promise.all(waiting);
  expect(order.toSorted()).toEqual(["a1", "a2", "b1", "c1"]);
  expect(order.indexOf("a1")).toBeLessThan(order.indexOf("a2"));
  expect(order.indexOf("b1")).toBeLessThan(order.indexOf("a2"));
});

test("who gives up does not get a place, and nobody behind is held up", async () => {
  const places = new FairSemaphore(1, leavingSome);
  await places.take("a", signal);
  const impatient = new AbortController();
  const gone = places.take("b", impatient.signal).catch(() => "gone");
  const next = places.take("c", signal).then(() => "next");
  impatient.abort();
  expect(await gone).toBe("gone");
  places.leave("a");
  expect(await next).toBe("next");
  places.leave("c");
  expect(taken(places, "d")).toBe(1);
});

test("who gives up just when it got a place has it", async () => {
  const places = new FairSemaphore(1, leavingSome);
  places.tryTake("a");
  const late = new AbortController();
  const taking = places.take("b", late.signal);
  places.leave("a");
  late.abort(new Error("late"));
  await taking;
  expect(taken(places, "c")).toBe(0);
  places.leave("b");
  expect(taken(places, "c")).toBe(1);
});

test("who has given up before does not wait", async () => {
  const places = new FairSemaphore(1, leavingSome);
  places.tryTake("a");
  await expect(places.take("b", AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
});

/** Owners that were let in, in order. */
function crowd(places: FairSemaphore) {
  const inside: string[] = [];
  const come = (owner: string, until = signal) =>
    places.take(owner, until).then(
      () => void inside.push(owner),
      () => {},
    );
  return { inside, come };
}

const settled = () => Bun.sleep(0);

test("an owner has no more places than its own bound, whatever is free", async () => {
  const places = new FairSemaphore(4, upTo(2));
  const { inside, come } = crowd(places);
  for (const owner of ["a", "a", "a", "b", "a"]) come(owner);
  await settled();
  expect(inside).toEqual(["a", "a", "b"]);
  places.leave("b");
  await settled();
  expect(inside).toEqual(["a", "a", "b"]);
  places.leave("a");
  await settled();
  expect(inside).toEqual(["a", "a", "b", "a"]);
});

test("owners take turns, and one that is at its bound is passed over", async () => {
  const places = new FairSemaphore(2, upTo(1));
  const { inside, come } = crowd(places);
  for (const owner of ["a", "b", "a", "a", "c", "b"]) come(owner);
  await settled();
  expect(inside).toEqual(["a", "b"]);
  places.leave("b");
  await settled();
  expect(inside).toEqual(["a", "b", "c"]);
  places.leave("a");
  places.leave("c");
  await settled();
  expect(inside.slice(3).toSorted()).toEqual(["a", "b"]);
});

test("who gives up waiting has no place and stands in nobody's way", async () => {
  const places = new FairSemaphore(1, upTo(1));
  const { inside, come } = crowd(places);
  const leaving = new AbortController();
  come("a");
  const gone = come("b", leaving.signal);
  come("c");
  leaving.abort(new Error("left"));
  await gone;
  places.leave("a");
  await settled();
  expect(inside).toEqual(["a", "c"]);
  places.leave("c");
  await expect(places.take("b", leaving.signal)).rejects.toThrow("left");
  expect(places.tryTake("d")).toBe(true);
});

test("places are never given twice, nor kept from those who may have them", async () => {
  const step = fc.record({ owner: fc.constantFrom("a", "b", "c"), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const places = new FairSemaphore(3, upTo(2));
      const { inside, come } = crowd(places);
      const asked = { a: 0, b: 0, c: 0 };
      const held = (owner: string) => inside.filter((it) => it === owner).length;
      for (const { owner, leaves } of steps) {
        const at = inside.indexOf(owner);
        if (!leaves) {
          asked[owner as "a"] += 1;
          come(owner);
        } else if (at >= 0) {
          inside.splice(at, 1);
          asked[owner as "a"] -= 1;
          places.leave(owner);
        }
        await settled();
        expect(inside.length).toBeLessThanOrEqual(3);
        for (const one of ["a", "b", "c"] as const) {
          expect(held(one)).toBeLessThanOrEqual(2);
          const wants = asked[one] > held(one);
          expect(wants && inside.length < 3 && held(one) < 2).toBe(false);
        }
      }
    }),
    { numRuns: 60 },
  );
});
