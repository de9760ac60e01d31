import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { RecentIds } from "../../src/pipeline/repetitions/recent-ids.ts";

const at = (sequence: number, log = "0") => ({ log, sequence, receivedAt: sequence });
const noBound = () => ({ countMax: 1e9, allocated: 0 });

test("the last occurrence of each id is known, as in a map", () => {
  const step = fc.record({
    id: fc.nat({ max: 600 }),
    log: fc.constantFrom("0", "1"),
    forgets: fc.option(fc.nat({ max: 900 }), { nil: undefined, freq: 30 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1_500, size: "max" }), (steps) => {
      const ids = new RecentIds(1e6, noBound());
      const model = new Map<string, ReturnType<typeof at>>();
      for (const [n, { id, log, forgets }] of steps.entries()) {
        if (forgets !== undefined) {
          ids.forgetBefore(n - forgets);
          for (const [key, it] of model) if (it.receivedAt < n - forgets) model.delete(key);
        }
        expect(ids.note(`id-${id}`, at(n, log))).toEqual(model.get(`id-${id}`)!);
        model.set(`id-${id}`, at(n, log));
      }
    }),
    { numRuns: 8 },
  );
});

test("ids with different halves of surrogate pairs are different", () => {
  const ids = new RecentIds(300, noBound());
  for (const id of ["\ud800", "\udfff"]) expect(ids.note(id, at(0))).toBeUndefined();
  expect(ids.note("\ud800", at(1))).toEqual(at(0));
});

test("at the bound of a source, the ids that occurred longest ago are forgotten", () => {
  const ids = new RecentIds(300, noBound());
  for (let n = 0; n < 1_000; n++) expect(ids.note(`${n}`, at(n))).toBeUndefined();
  expect(ids.note("700", at(1_000))).toEqual(at(700));
  expect(ids.note("701", at(1_001))).toEqual(at(701));
  expect(ids.note("699", at(1_002))).toBeUndefined();
});

test("an id that occurs again and again takes no memory", () => {
  const budget = noBound();
  const ids = new RecentIds(1e6, budget);
  for (let n = 0; n < 100_000; n++) ids.note("same", at(n));
  expect(budget.allocated).toBeLessThan(1_000);
});

test("an id that occurs again costs as much as a new one also when no slot is free", () => {
  const countMax = 50_000;
  const ids = new RecentIds(countMax, noBound());
  for (let n = 0; n < 2 * countMax; n++) ids.note(`${n}`, at(n));
  let sequence = 2 * countMax;
  const cpuOf = (count: number, idOf: (n: number) => string) => {
    const before = process.cpuUsage();
    for (let n = 0; n < count; n++) ids.note(idOf(n), at(sequence++));
    return process.cpuUsage(before).user / count;
  };
  const again = cpuOf(300, (n) => `${2 * countMax - 1 - n}`);
  expect(again).toBeLessThan(100 * cpuOf(countMax, (n) => `new-${n}`));
});

test("all sources together keep no more ids than the node may, and each keeps some", () => {
  const budget = { countMax: 2_000, allocated: 0 };
  const sources = Array.from({ length: 4 }, () => new RecentIds(1e6, budget));
  for (let n = 0; n < 5_000; n++) for (const ids of sources) ids.note(`${n}`, at(n));
  expect(budget.allocated).toBeLessThanOrEqual(2_000 + 4 * 256);
  for (const ids of sources) expect(ids.note("4999", at(5_000))).toEqual(at(4_999));
  for (const ids of sources) ids.clear();
  expect(budget.allocated).toBe(0);
  expect(sources[0]!.note("4999", at(5_001))).toBeUndefined();
});

test("a source keeps at most twice the slots that its ids take", () => {
  const budget = noBound();
  const ids = new RecentIds(1e6, budget);
  for (let n = 0; n < 300; n++) ids.note(`${n}`, at(n));
  expect(budget.allocated).toBe(512);
});

test.each([0, 1])(
  "two ids whose first or second hash is equal differ by the other hash, %p",
  (other) => {
    const seeds: unknown[] = [];
    const { wyhash } = Bun.hash;
    const spy = spyOn(Bun.hash, "wyhash").mockImplementation((id, seed) => {
      if (!seeds.includes(seed)) seeds.push(seed);
      return seeds.indexOf(seed) === other ? wyhash(id, seed) : 7n;
    });
    try {
      const ids = new RecentIds(1e6, noBound());
      expect(ids.note("one", at(1))).toBeUndefined();
      expect(ids.note("two", at(2))).toBeUndefined();
      expect(ids.note("one", at(3))).toEqual(at(1));
    } finally {
      spy.mockRestore();
    }
    expect(seeds.map((seed) => typeof seed)).toEqual(["bigint", "bigint"]);
  },
);
