import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import {
  type AdmissionLimits,
  GUEST_EVICTION_INTERVAL_MS,
  GuestAdmission,
  type GuestHolder,
} from "../../../src/sandbox/scheduling/guest-admission.ts";
import { eventually, PATIENCE_MS } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

/** A house with fake residents, who do as they are told. */
function house(bounds: Partial<AdmissionLimits> = {}) {
  const residence = new GuestAdmission<Fake>({
    ...{ guestsMax: 2, hasMemory: () => true, isOverMemory: () => false },
    ...bounds,
  });
  const inside: string[] = [];
  const sent: string[] = [];

  class Fake implements GuestHolder {
    idleSince: number | undefined;
    memoryBytes = 0;
    yields = false;
    readonly #inside = Promise.withResolvers<this>();
    constructor(readonly name: string) {}
    enter(): Promise<this> {
      residence.request(this);
      return this.#inside.promise;
    }
    onAdmit(): void {
      inside.push(this.name);
      this.#inside.resolve(this);
    }
    evict(atOnce: boolean): void {
      sent.push(atOnce ? `${this.name}!` : this.name);
      this.yields = true;
      if (atOnce || this.idleSince !== undefined) this.leave();
    }
    /** What was under way is done. */
    rest(at = performance.now()): void {
      this.idleSince = at;
      if (this.yields) this.leave();
    }
    leave(): void {
      inside.splice(inside.indexOf(this.name), 1);
      this.yields = false;
      residence.release(this);
    }
  }
  return { residence, inside, sent, come: (name: string) => new Fake(name) };
}

test("the longest idle makes room, else the longest there once its work is done", async () => {
  const { inside, sent, come, residence } = house();
  const [a, b, c, d] = ["a", "b", "c", "d"].map(come) as [any, any, any, any];
  await a.enter();
  await b.enter();
  b.rest(1);
  await c.enter();
  expect([inside, sent]).toEqual([["a", "c"], ["b"]]);
  const entering = d.enter();
  await eventually(() => sent.length === 2);
  expect([inside, sent]).toEqual([
    ["a", "c"],
    ["b", "a"],
  ]);
  a.rest();
  await entering;
  expect(inside).toEqual(["c", "d"]);
  residence.close();
});

test("not more often than once in a while", async () => {
  const { sent, come, residence } = house({ guestsMax: 10 });
  for (let n = 0; n < 10; n += 1) (await come(`in ${n}`).enter()).rest(n);
  const start = performance.now();
  await Promise.all(Array.from({ length: 5 }, (_, n) => come(`new ${n}`).enter()));
  expect(sent).toHaveLength(5);
  expect(performance.now() - start).toBeGreaterThan(3.5 * GUEST_EVICTION_INTERVAL_MS);
  residence.close();
});

test("who waits enters at once when somebody leaves by himself", async () => {
  const { inside, come, residence } = house({ guestsMax: 1 });
  const first = await come("a").enter();
  const waiting = come("b").enter();
  first.leave();
  await waiting;
  expect(inside).toEqual(["b"]);
  residence.close();
});

test("without memory nobody enters a house that is not empty, and the largest makes room", async () => {
  const memory = { left: false };
  const { inside, sent, come, residence } = house({ guestsMax: 9, hasMemory: () => memory.left });
  const small = await come("small").enter();
  small.memoryBytes = 1;
  memory.left = true;
  const large = await come("large").enter();
  large.memoryBytes = 2;
  memory.left = false;
  const waiting = come("waits").enter();
  await eventually(() => sent.length === 1);
  expect([inside, sent]).toEqual([["small"], ["large!"]]);
  memory.left = true;
  await waiting;
  expect(inside).toEqual(["small", "waits"]);
  residence.close();
});

test("guests over their memory end: idle ones first, then the largest", async () => {
  let over = 3;
  const { sent, come, residence } = house({ guestsMax: 9, isOverMemory: () => over > 0 });
  const [, b, c] = await Promise.all(["a", "b", "c"].map((name) => come(name).enter()));
  b!.rest();
  c!.memoryBytes = 5;
  for (; over > 0; over -= 1) residence.evictOverMemory();
  residence.evictOverMemory();
  expect(sent).toEqual(["b!", "c!", "a!"]);
});

test("never more residents than may be, and everybody gets in", async () => {
  const people = fc.array(fc.record({ works: fc.nat(30), bytes: fc.nat(9) }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(people, fc.integer({ min: 1, max: 4 }), async (all, residentsMax) => {
      const { inside, come, residence } = house({ guestsMax: residentsMax });
      let most = 0;
      await Promise.all(
        all.map(async ({ works, bytes }, n) => {
          const one = await come(`${n}`).enter();
          most = Math.max(most, inside.length);
          one.memoryBytes = bytes;
          await Bun.sleep(works);
          if (works % 2 === 0) one.rest();
          else if (inside.includes(one.name)) one.leave();
        }),
      );
      residence.close();
      expect(most).toBeLessThanOrEqual(residentsMax);
    }),
    { numRuns: 15 },
  );
});
