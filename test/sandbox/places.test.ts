import { expect, test } from "bun:test";
import fc from "fast-check";
import { Places } from "../../src/sandbox/places.ts";

/** Owners that were let in, in order. */
function crowd(places: Places) {
  const inside: string[] = [];
  const come = (owner: string, signal?: AbortSignal) =>
    places.take(owner, signal).then(
      () => void inside.push(owner),
      () => {},
    );
  return { inside, come };
}

const settled = () => Bun.sleep(0);

test("an owner has no more places than its own bound, whatever is free", async () => {
  const places = new Places(4, 2);
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
  const places = new Places(2, 1);
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
  const places = new Places(1);
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
  expect(places.areAwaited).toBe(false);
  await expect(places.take("b", leaving.signal)).rejects.toThrow("left");
  await places.take("d");
});

test("places are never given twice, nor kept from those who may have them", async () => {
  const step = fc.record({ owner: fc.constantFrom("a", "b", "c"), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const places = new Places(3, 2);
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
