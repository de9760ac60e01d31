import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { ConcurrencyLimiter } from "../../src/concurrency/concurrency-limiter.ts";
import { atMost, FairSemaphore } from "../../src/concurrency/fair-semaphore.ts";
import { KeyedMutex } from "../../src/concurrency/keyed-mutex.ts";
import { SharedResults } from "../../src/concurrency/shared-results.ts";

/** State by key, such as a workspace or a receiver, is kept only while it is in use. */

const KEYS = 5_000;
const limiter = new ConcurrencyLimiter({ perOwner: 1 });
const semaphore = new FairSemaphore(1, atMost(1));
const mutex = new KeyedMutex();
const results = new SharedResults(0);
const { signal } = new AbortController();

const uses: [string, (key: string) => unknown][] = [
  ["a concurrency limiter", (key) => limiter.tryAcquire(key)!.release()],
  ["a fair semaphore", (key) => semaphore.tryAcquire(key)!.release()],
  ["a keyed mutex", (key) => mutex.run(key, async () => {})],
  ["shared results", (key) => results.get({ key, version: "1" }, async () => 1, signal)],
];

test.each(uses)("%s keeps nothing for a key that is no longer used", async (_, use) => {
  const useAll = async (round: number) => {
    await Promise.all(Array.from({ length: KEYS }, (_, n) => use(`${round} ${n}`)));
    // A result without age is forgotten in a later turn.
    await Bun.sleep(5);
    Bun.gc(true);
    return heapStats().objectCount;
  };
  await useAll(0);
  const before = await useAll(1);
  expect((await useAll(2)) - before).toBeLessThan(KEYS / 2);
});
