import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeEntry } from "../../src/store/ordered/change-set.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import type { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { Turns } from "../../src/store/ordered/turns.ts";
import { until } from "../until.ts";
import { MemoryLog } from "./memory-log.ts";
import { openNode } from "./nodes.ts";

const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const directory = mkdtempSync(join(root, "pixelmill-turns-"));
afterAll(() => rmSync(directory, { recursive: true }));

let paths = 0;
const openOn = (log: OrderedLog) => openNode(join(directory, `${paths++}.mdb`), log);
const numbersOf = (store: OrderedStore) => store.table<number, string>("numbers");

/** The log as a node sees it whose appends reach the log late. */
function slowed(log: MemoryLog, ms: number): OrderedLog {
  return {
    append: async (entry) => {
      await Bun.sleep(ms);
      return await log.append(entry);
    },
    knownEnd: () => log.knownEnd(),
    trim: (position) => log.trim(position),
    follow: (position, take) => log.follow(position, take),
    trouble: () => log.trouble(),
  };
}

/** Changes a store in a loop until the returned function is called, which returns their count. */
function changing(store: OrderedStore) {
  let isOver = false;
  let count = 0;
  const running = (async () => {
    for (; !isOver; count++) {
      await store.change(() => {
        numbersOf(store).put("n", (numbersOf(store).get("n") ?? 0) + 1);
      });
    }
  })();
  return async () => {
    isOver = true;
    await running;
    return count;
  };
}

test("a change of a node that is slower than others takes effect within three attempts", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const fast = openOn(log);
  const slow = openOn(slowed(log, 50));
  const stop = changing(fast);
  await slow.change(() => numbersOf(slow).put("first", 1));
  const attempts: number[] = [];
  for (let n = 0; n < 5; n++) {
    let count = 0;
    await slow.change(() => {
      count += 1;
      numbersOf(slow).put("slow", n);
    });
    attempts.push(count);
  }
  expect(await stop()).toBeGreaterThan(5);
  expect(Math.max(...attempts)).toBeLessThanOrEqual(3);
  await Promise.all([fast.close(), slow.close()]);
}, 300_000);

const outcome = (author: string, isEffective: boolean) => ({ author, isEffective, isPass: false });

/** Turns of the node "own" that has read a change set of its own, and whether its call waits. */
function turnsOf() {
  const turns = new Turns("own");
  turns.take([outcome("own", true)]);
  let waiting = 0;
  return {
    turns,
    take: (...outcomes: [author: string, isEffective: boolean][]) =>
      turns.take(outcomes.map((it) => outcome(...it))),
    pass: (author: string) => turns.take([{ ...outcome(author, false), isPass: true }]),
    own() {
      waiting += 1;
      return turns.own().finally(() => {
        waiting -= 1;
      });
    },
    async isWaiting() {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      return waiting > 0;
    },
  };
}

test("a node waits for those that were refused before it, and others wait for it", async () => {
  const { take, own, isWaiting } = turnsOf();
  await own();
  take(["b", false], ["c", false], ["b", false]);
  const ended = own();
  expect(await isWaiting()).toBe(true);
  take(["own", false], ["d", false], ["b", true]);
  expect(await isWaiting()).toBe(true);
  take(["c", true]);
  await ended;
  // It keeps its turn before those that came later until its own set takes effect.
  await own();
  take(["own", true]);
  const after = own();
  expect(await isWaiting()).toBe(true);
  take(["d", true]);
  await after;
});

test("a node that gives up its turn is not awaited, then or later", async () => {
  const { turns, take, pass, own, isWaiting } = turnsOf();
  take(["b", false], ["c", false]);
  const ended = own();
  pass("b");
  expect(await isWaiting()).toBe(true);
  pass("c");
  await ended;
  expect(turns.isAwaited).toBe(false);
  take(["own", false]);
  expect(turns.isAwaited).toBe(true);
  pass("own");
  expect(turns.isAwaited).toBe(false);
});

test("a refused change that has nothing to write any more gives up its node's turn", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const one = openOn(log);
  const hold = Promise.withResolvers<void>();
  const held = {
    ...slowed(log, 0),
    append: async (entry: Uint8Array) => {
      await hold.promise;
      return await log.append(entry);
    },
  };
  const other = openOn(held);
  let attempts = 0;
  const put = other.change(() => {
    attempts += 1;
    if (numbersOf(other).get("n") === undefined) numbersOf(other).put("n", 2);
  });
  await one.change(() => numbersOf(one).put("n", 1));
  hold.resolve();
  await put;
  expect([attempts, numbersOf(other).get("n")]).toEqual([2, 1]);
  // A set that took effect, one that did not, and the pass.
  await until(() => log.entries.filter((it) => it!.length > 0).length === 3);
  expect(decodeEntry(log.entries.at(-1)!)).toMatchObject({ base: -2, writes: [] });
  await Promise.all([one.close(), other.close()]);
});

test("a node does not wait for those that were refused before its own first change", async () => {
  const turns = new Turns("own");
  turns.take([outcome("b", false)]);
  const startedAt = performance.now();
  await turns.own();
  expect(performance.now() - startedAt).toBeLessThan(900);
});

test("a node whose turn it is and that appends nothing is passed over, later on a slower machine", async () => {
  const { take, own } = turnsOf();
  const passedMs = async () => {
    take(["stopped", false]);
    const startedAt = performance.now();
    await own();
    return performance.now() - startedAt;
  };
  expect(await passedMs()).toBeGreaterThan(900);
  take(["own", true]);
  await own();
  await Bun.sleep(700);
  take(["own", true]);
  expect(await passedMs()).toBeGreaterThan(1_300);
}, 300_000);

test("a node that closes waits for no other", async () => {
  const { turns, take, own } = turnsOf();
  take(["b", false]);
  const startedAt = performance.now();
  const ended = own();
  turns.close();
  await ended;
  await own();
  expect(performance.now() - startedAt).toBeLessThan(900);
});
