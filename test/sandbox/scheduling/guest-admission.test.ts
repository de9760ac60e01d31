import { expect, jest, onTestFinished, setDefaultTimeout, spyOn, test } from "bun:test";
import fc from "fast-check";
import {
  type AdmissionLimits,
  GUEST_EVICTION_INTERVAL_MS,
  GuestAdmission,
  type GuestHolder,
} from "../../../src/sandbox/scheduling/guest-admission.ts";
import { eventually, PATIENCE_MS } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

/** An admission with fake holders, which leave when they are evicted. */
function admissionOf(bounds: Partial<AdmissionLimits> = {}) {
  const admission = new GuestAdmission<Fake>({
    ...{ guestsMax: 2, hasMemory: () => true, isOverMemory: () => false },
    ...bounds,
  });
  const inside: string[] = [];
  const sent: string[] = [];

  class Fake implements GuestHolder {
    idleSince: number | undefined;
    memoryBytes = 0;
    yields = false;
    isSecond = false;
    readonly #inside = Promise.withResolvers<this>();
    constructor(readonly name: string) {}
    enter(): Promise<this> {
      admission.request(this);
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
    /** Ends the work in progress. */
    rest(at = performance.now()): void {
      this.idleSince = at;
      if (this.yields) this.leave();
    }
    leave(): void {
      inside.splice(inside.indexOf(this.name), 1);
      this.yields = false;
      admission.release(this);
    }
  }
  return { admission, inside, sent, come: (name: string) => new Fake(name) };
}

test("the longest idle guest is evicted first, else the longest admitted one after its work", async () => {
  const { inside, sent, come, admission } = admissionOf();
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
  admission.close();
});

test("guests are evicted at most once per eviction interval", async () => {
  const { sent, come, admission } = admissionOf({ guestsMax: 10 });
  for (let n = 0; n < 10; n += 1) (await come(`in ${n}`).enter()).rest(n);
  const start = performance.now();
  await Promise.all(Array.from({ length: 5 }, (_, n) => come(`new ${n}`).enter()));
  expect(sent).toHaveLength(5);
  expect(performance.now() - start).toBeGreaterThan(3.5 * GUEST_EVICTION_INTERVAL_MS);
  admission.close();
});

test("one timer runs however many workspaces wait, and none once they have entered or at the end", async () => {
  jest.useFakeTimers();
  onTestFinished(() => void jest.useRealTimers());
  const { inside, come, admission } = admissionOf({ guestsMax: 1 });
  const first = come("a");
  admission.request(first);
  const waiting = ["b", "c", "d"].map(come);
  for (const one of waiting) admission.request(one);
  expect([admission.waiting, jest.getTimerCount()]).toEqual([3, 1]);
  for (const one of [first, ...waiting]) one.leave();
  expect([inside, admission.waiting, jest.getTimerCount()]).toEqual([[], 0, 0]);
  admission.request(first);
  admission.request(come("e"));
  expect(jest.getTimerCount()).toBe(1);
  admission.close();
  expect([admission.waiting, jest.getTimerCount()]).toEqual([0, 0]);
});

test("as many guests are evicted as workspaces wait, one in each interval", () => {
  jest.useFakeTimers();
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => {
    clock.mockRestore();
    jest.useRealTimers();
  });
  const { inside, sent, come, admission } = admissionOf({ guestsMax: 3 });
  const wait = (ms: number) => {
    now += ms;
    jest.advanceTimersByTime(GUEST_EVICTION_INTERVAL_MS);
  };
  const [a, ...others] = ["a", "b", "c", "d"].map(come);
  for (const one of [a!, ...others]) admission.request(one);
  expect(sent).toEqual(["a"]);
  now += GUEST_EVICTION_INTERVAL_MS - 1;
  admission.request(come("e"));
  expect(sent).toEqual(["a"]);
  wait(1);
  expect(sent).toEqual(["a", "b"]);
  for (let times = 0; times < 3; times += 1) wait(GUEST_EVICTION_INTERVAL_MS);
  expect(sent).toEqual(["a", "b"]);
  a!.rest();
  expect([inside, sent]).toEqual([
    ["b", "c", "d"],
    ["a", "b"],
  ]);
  admission.close();
});

test("a waiting workspace enters at once when another one leaves", async () => {
  const { inside, come, admission } = admissionOf({ guestsMax: 1 });
  const first = await come("a").enter();
  const waiting = come("b").enter();
  first.leave();
  await waiting;
  expect(inside).toEqual(["b"]);
  admission.close();
});

test("without memory only the first guest is admitted, and the largest one is evicted", async () => {
  const memory = { left: false };
  const { inside, sent, come, admission } = admissionOf({
    guestsMax: 9,
    hasMemory: () => memory.left,
  });
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
  admission.close();
});

test("guests over their memory end: idle ones first, then the largest", async () => {
  let over = 3;
  const { sent, come, admission } = admissionOf({ guestsMax: 9, isOverMemory: () => over > 0 });
  const [, b, c] = await Promise.all(["a", "b", "c"].map((name) => come(name).enter()));
  b!.rest();
  c!.memoryBytes = 5;
  for (; over > 0; over -= 1) admission.evictOverMemory();
  admission.evictOverMemory();
  expect(sent).toEqual(["b!", "c!", "a!"]);
});

test("a second guest makes room before any first one that works, and enters only free room", async () => {
  for (const isMemoryShort of [false, true]) {
    const memory = { left: true };
    const { inside, sent, come, admission } = admissionOf({
      guestsMax: isMemoryShort ? 9 : 3,
      hasMemory: () => memory.left,
    });
    const [first, second, other, waits] = ["first", "second", "other", "waits"].map(come) as any[];
    second.isSecond = true;
    first.memoryBytes = 2;
    await first.enter();
    expect(admission.hasRoom).toBe(true);
    await second.enter();
    await other.enter();
    memory.left = !isMemoryShort;
    expect(admission.hasRoom).toBe(false);
    const entering = waits.enter();
    await eventually(() => sent.length === 1);
    expect(sent).toEqual([isMemoryShort ? "second!" : "second"]);
    expect(admission.hasRoom).toBe(false);
    memory.left = true;
    if (!isMemoryShort) second.rest();
    await entering;
    expect(inside).toEqual(["first", "other", "waits"]);
    admission.close();
  }
});

test("guests never exceed the bound, and every holder is admitted", async () => {
  const holders = fc.array(fc.record({ works: fc.nat(30), bytes: fc.nat(9) }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(holders, fc.integer({ min: 1, max: 4 }), async (all, guestsMax) => {
      const { inside, come, admission } = admissionOf({ guestsMax });
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
      admission.close();
      expect(most).toBeLessThanOrEqual(guestsMax);
    }),
    { numRuns: 15 },
  );
});
