import { expect, test } from "bun:test";
import fc from "fast-check";
import { PrioritySemaphore } from "../../src/concurrency/priority-semaphore.ts";

/** Calls that hold a permit until `end` ends them. */
function calls(semaphore: PrioritySemaphore) {
  const begun: string[] = [];
  const ends = new Map<string, (fails: boolean) => void>();
  const all: Promise<unknown>[] = [];
  return {
    begun,
    begin(name: string, priority: number) {
      const run = async () => {
        using _permit = await semaphore.acquire(priority);
        begun.push(name);
        await new Promise<void>((resolve, reject) => {
          ends.set(name, (fails) => (fails ? reject(new Error(name)) : resolve()));
        });
      };
      all.push(run().catch(() => {}));
    },
    async end(name: string, fails = false) {
      ends.get(name)!(fails);
      await Bun.sleep(0);
    },
  };
}

test("at most as many calls run as there are permits, and the others wait in order of priority", async () => {
  const { begun, begin, end } = calls(new PrioritySemaphore(2));
  for (const name of ["a", "b", "c", "d"]) begin(name, 0);
  await Bun.sleep(0);
  expect(begun).toEqual(["a", "b"]);
  await end("b");
  expect(begun).toEqual(["a", "b", "c"]);
  await end("a");
  expect(begun).toEqual(["a", "b", "c", "d"]);
});

test("permits that are released while no call waits are free again, each once", () => {
  const semaphore = new PrioritySemaphore(2);
  for (let round = 0; round < 3; round++) {
    const permits = Array.from({ length: 4 }, () => semaphore.tryAcquire());
    expect(permits.map((permit) => permit !== undefined)).toEqual([true, true, false, false]);
    for (const permit of permits) permit?.release();
  }
});

test("a call that fails releases its permit", async () => {
  const { begun, begin, end } = calls(new PrioritySemaphore(1));
  for (const name of ["a", "b"]) begin(name, 0);
  await Bun.sleep(0);
  await end("a", true);
  expect(begun).toEqual(["a", "b"]);
});

test("the waiting call with the lowest number is next, whatever the order of arrival", async () => {
  const { begun, begin, end } = calls(new PrioritySemaphore(1));
  begin("first", 0);
  for (const [name, priority] of Object.entries({ x: 7, y: 2, z: 7, good: 0 })) {
    begin(name, priority);
  }
  await Bun.sleep(0);
  for (const name of ["first", "good", "y", "x"]) await end(name);
  expect(begun).toEqual(["first", "good", "y", "x", "z"]);
});

test("every permit is released, whether calls fail or not", async () => {
  const entries = fc.array(fc.record({ priority: fc.nat(3), fails: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), entries, async (permits, all) => {
      const semaphore = new PrioritySemaphore(permits);
      let running = 0;
      let most = 0;
      const run = async (priority: number, fails: boolean) => {
        using _permit = await semaphore.acquire(priority);
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
        if (fails) throw new Error("fails");
      };
      await Promise.allSettled(all.map(({ priority, fails }) => run(priority, fails)));
      expect(running).toBe(0);
      expect(most).toBe(Math.min(permits, all.length));
    }),
  );
});
