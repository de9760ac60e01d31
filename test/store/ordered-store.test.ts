import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Packr } from "msgpackr";
import { pino } from "pino";
import { ApiError } from "../../src/errors.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import { encodeChangeSet, SHARED_FORMAT } from "../../src/store/ordered/change-set.ts";
import { OrderedLogEnd } from "../../src/store/ordered/log-end.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { encodeValue } from "../../src/store/row-write.ts";
import type { Store } from "../../src/store/store.ts";
import { runs } from "../tier.ts";
import { MemoryLog } from "./memory-log.ts";
import { openNode, runLoad, unexplained } from "./nodes.ts";

// In memory where there is such a place: what is asked is the order, and a disk only takes time.
const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const directory = mkdtempSync(join(root, "pixelmill-ordered-"));
afterAll(() => rmSync(directory, { recursive: true }));

const logger = pino({ level: "silent" });

let paths = 0;
const freshPath = () => join(directory, `${paths++}.mdb`);

const quick = () => new MemoryLog({ delayMs: () => 0 });
const numbersOf = (store: Store) => store.table<number, string>("numbers");
const closeAll = (stores: Store[]) => Promise.all(stores.map((it) => it.close()));

function openNodes(count: number, log = quick()) {
  return { log, nodes: Array.from({ length: count }, () => openNode(freshPath(), log)) };
}

describe("stores on one ordered log", () => {
  test("show on every node what was answered on another", async () => {
    const { nodes } = openNodes(3);
    await nodes[0]!.change(() => numbersOf(nodes[0]!).put("a", 1));
    await nodes[1]!.change(() => {
      numbersOf(nodes[1]!).put("b", numbersOf(nodes[1]!).get("a")! + 1);
      numbersOf(nodes[1]!).remove("a");
    });
    for (const node of nodes) {
      await node.catchUp();
      expect([...numbersOf(node).getRange({})]).toEqual([{ key: "b", value: 2 }]);
    }
    await closeAll(nodes);
  });

  test("tell listeners which tables changed, except by their own node's changes of known rows", async () => {
    const { nodes } = openNodes(2);
    const [own, other] = [nodes[0]!, nodes[1]!];
    const told: string[][] = [];
    const stop = own.listen((tables) => told.push([...tables].sort()));
    await own.change(() => numbersOf(own).put("a", 1), { allowStale: true });
    expect(told).toEqual([]);
    await other.change(() => {
      numbersOf(other).put("b", 1);
      other.table<string, string>("texts").put("b", "x");
    });
    await own.catchUp();
    expect(told).toEqual([["numbers", "texts"]]);
    stop();
    await other.change(() => numbersOf(other).put("c", 1));
    await own.catchUp();
    expect(told).toHaveLength(1);
    await closeAll(nodes);
  });

  test("refuse changes while an earlier one is overdue, except those on known rows", async () => {
    const { nodes } = openNodes(1);
    const [own] = [nodes[0]!];
    const isOverdue = Object.getOwnPropertyDescriptor(OrderedLogEnd.prototype, "isOverdue")!;
    Object.defineProperty(OrderedLogEnd.prototype, "isOverdue", { ...isOverdue, get: () => true });
    const put = () => numbersOf(own).put("a", 1);
    try {
      await expect(own.change(put)).rejects.toThrow("do not confirm the newest state");
      expect(numbersOf(own).get("a")).toBeUndefined();
      await own.change(put, { allowStale: true });
    } finally {
      Object.defineProperty(OrderedLogEnd.prototype, "isOverdue", isOverdue);
    }
    await own.change(put);
    await closeAll(nodes);
  });

  test("refuse changes once they are closed, and are closed once", async () => {
    const { nodes } = openNodes(1);
    const [node] = nodes;
    await node!.close();
    await node!.close();
    await expect(node!.change(() => 1)).rejects.toThrow("is closed");
  });

  test("take one of two changes that contradict each other, and refuse the other by its rule", async () => {
    const { nodes } = openNodes(2);
    const claims = nodes.flatMap((node, i) =>
      Array.from({ length: 20 }, (_, name) =>
        node.change(() => {
          if (numbersOf(node).get(`name ${name}`) !== undefined) {
            throw new ApiError("conflict", "Taken");
          }
          numbersOf(node).put(`name ${name}`, i);
        }),
      ),
    );
    const outcomes = await Promise.allSettled(claims);
    const taken = outcomes.filter(({ status }) => status === "fulfilled");
    expect(taken).toHaveLength(20);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason.message).toBe("Taken");
    }
    await closeAll(nodes);
  });

  test("say how often and how long a change was tried before another one came first each time", async () => {
    const { log, nodes } = openNodes(2);
    const [own, other] = [nodes[0]!, nodes[1]!];
    const now = performance.now.bind(performance);
    let passedMs = 0;
    const clock = spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    const append = log.append.bind(log);
    let isOther = false;
    log.append = async (entry) => {
      if (!isOther && entry.length > 0) {
        isOther = true;
        await other.change(() => numbersOf(other).put("a", passedMs));
        isOther = false;
        passedMs += 9_000;
      }
      return append(entry);
    };
    try {
      const changed = own.change(() => numbersOf(own).put("a", numbersOf(own).get("a") ?? 0));
      await expect(changed).rejects.toThrow(
        "was not changed: each of 3 attempts took 7 s, because brokers or this node are slow",
      );
    } finally {
      clock.mockRestore();
    }
    await closeAll(nodes);
  });

  test("give up a change that waits behind a slow one at its own time, not at that of the slow one", async () => {
    const log = quick();
    const more = { local: openView({ path: freshPath(), name: "The store", logger }), log };
    const store = new OrderedStore({ ...more, name: "The store", logger, changeMsMax: 400 });
    store.table("numbers");
    await store.change(() => numbersOf(store).put("a", 1));
    const append = log.append.bind(log);
    const answered = Promise.withResolvers<void>();
    log.append = async (entry) => {
      await answered.promise;
      return await append(entry);
    };
    const startedAt = performance.now();
    const slow = store.change(() => numbersOf(store).put("a", 2)).catch(String);
    await Bun.sleep(300);
    const later = store.change(() => numbersOf(store).put("a", 3)).catch(String);
    const unknown = "The store did not confirm a change within 0.4 s; it may still take effect";
    expect(await slow).toContain(unknown);
    expect(await later).toContain(unknown);
    expect(performance.now() - startedAt).toBeLessThan(1_050);
    answered.resolve();
    await store.close();
  });

  test("log once, not for each call, why the end of the log is not read", async () => {
    const log = quick();
    const lines: string[] = [];
    const listening = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const local = openView({ path: freshPath(), name: "The store", logger });
    const store = new OrderedStore({ local, log, name: "The store", logger: listening });
    const append = log.append.bind(log);
    for (const outage of [1, 2]) {
      log.append = () => Promise.reject(new Error("Broker 1 does not answer"));
      for (const _ of [1, 2, 3]) await expect(store.catchUp()).rejects.toThrow("newest state");
      expect(lines.length).toBe(outage);
      expect(lines.at(-1)).toContain("Broker 1 does not answer");
      log.append = append;
      await store.catchUp();
    }
    await store.close();
  });

  test("commit a call that comes while an earlier one is tried again together with it", async () => {
    const { log, nodes } = openNodes(2);
    const [own, other] = [nodes[0]!, nodes[1]!];
    const append = log.append.bind(log);
    let later: Promise<unknown> | undefined;
    log.append = async (entry) => {
      if (later === undefined && entry.length > 0) {
        later = own.change(() => numbersOf(own).put("later", 1));
        await other.change(() => numbersOf(other).put("other", 1));
      }
      return append(entry);
    };
    await own.change(() => numbersOf(own).put("earlier", 1));
    await later;
    const written = log.entries.filter((entry) => entry!.length > 0);
    expect(written).toHaveLength(3);
    await closeAll(nodes);
  });

  test("lose no increment of many nodes", async () => {
    const { nodes } = openNodes(3);
    const increments = Array.from({ length: 300 }, (_, i) => {
      const node = nodes[i % 3]!;
      return node.change(() => {
        const before = numbersOf(node).get("count") ?? 0;
        numbersOf(node).put("count", before + 1);
        return before;
      });
    });
    const before = await Promise.all(increments);
    expect(before.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    await closeAll(nodes);
  });

  test("continue after a restart, and a store that starts empty receives all changes", async () => {
    const { log, nodes } = openNodes(1);
    const path = freshPath();
    let second = openNode(path, log);
    await second.change(() => numbersOf(second).put("a", 1));
    await second.close();
    await nodes[0]!.change(() => numbersOf(nodes[0]!).put("b", 2));
    second = openNode(path, log);
    const third = openNode(freshPath(), log);
    for (const node of [second, third]) {
      await node.catchUp();
      expect([...numbersOf(node).getKeys()]).toEqual(["a", "b"]);
    }
    await closeAll([...nodes, second, third]);
  });

  test("pass over entries that are no change sets, and sets of another state", async () => {
    const { log, nodes } = openNodes(2);
    const [first, second] = [nodes[0]!, nodes[1]!];
    await first.change(() => numbersOf(first).put("a", 1));
    const writes = [{ table: "numbers", key: "a" }];
    await log.append(Buffer.from("no change set"));
    await log.append(new Uint8Array(0));
    for (const set of [
      { author: "late", number: 0, base: -1, writes },
      { author: "from the future", number: 0, base: 7, writes },
    ]) {
      for (const entry of encodeChangeSet(set)) await log.append(entry);
    }
    await second.change(() => numbersOf(second).put("b", numbersOf(second).get("a")!));
    await first.catchUp();
    expect([...numbersOf(first).getKeys()]).toEqual(["a", "b"]);
    await closeAll(nodes);
  });

  test("refuse all when the log has lost its end, also when they are opened again", async () => {
    const { log, nodes } = openNodes(1);
    const path = freshPath();
    const node = openNode(path, log);
    for (const n of [1, 2, 3]) await node.change(() => numbersOf(node).put("n", n));
    log.entries.length = 1;
    const lost = (end: number) => `The store has 3 entries of its log, which ends at ${end}`;
    const put = node.change(() => numbersOf(node).put("n", 4));
    expect(await put.catch((error) => `${error.refusal}: ${error.message}`)).toBe(
      `unavailable: ${lost(1)}`,
    );
    expect(node.trouble()).toBe(lost(1));
    await node.close();
    // The refused change is in the log, without effect. A start adds nothing.
    const again = openNode(path, log);
    expect(await again.recover().catch((error) => `${error.name}: ${error.message}`)).toBe(
      `StartError: ${lost(2)}`,
    );
    expect(log.entries).toHaveLength(2);
    await closeAll([...nodes, again]);
  });

  test("take entries without a format as of the first one", async () => {
    const { log, nodes } = openNodes(1);
    await log.append(
      new Packr({ useRecords: false }).encode(["first", 0, -1, [["numbers", "a", encodeValue(1)]]]),
    );
    await nodes[0]!.catchUp();
    expect(numbersOf(nodes[0]!).get("a")).toBe(1);
    await closeAll(nodes);
  });

  test("stop at what a newer pixelmill wrote, say so, and do not start on it", async () => {
    const { log, nodes } = openNodes(1);
    const [node] = nodes;
    await node!.change(() => numbersOf(node!).put("a", 1));
    const told: string[] = [];
    const watching = openNode(freshPath(), log, undefined, (reason) => {
      told.push(reason);
    });
    await watching.catchUp();
    const writes = [{ table: "numbers", key: "a" }];
    const set = { author: "newer", number: 0, base: 0, writes };
    for (const entry of encodeChangeSet(set, SHARED_FORMAT + 1)) await log.append(entry);
    const refusal =
      /^The store's log: expected entries of format 1 at most, got format 2 at \d+: a newer pixel/;
    for (const it of [node!, watching]) {
      await expect(it.catchUp()).rejects.toThrow(refusal);
      await expect(it.change(() => numbersOf(it).put("b", 1))).rejects.toThrow(refusal);
      expect(it.trouble()).toMatch(refusal);
      // Earlier changes are applied, and records of the newer version are not.
      expect(numbersOf(it).get("a")).toBe(1);
    }
    expect(told).toEqual([expect.stringMatching(refusal)]);
    const late = openNode(freshPath(), log);
    await expect(late.recover()).rejects.toThrow(refusal);
    await closeAll([node!, watching, late]);
  });

  test("take changes up to the largest size, and refuse only those of a batch that are larger", async () => {
    const largest = 10_000;
    const node = openNode(freshPath(), quick(), undefined, undefined, largest);
    const texts = node.table<string, string>("texts");
    const put = (key: string, chars: number) =>
      node.change(() => texts.put(key, "x".repeat(chars)));
    const refusal = `Expected a change of at most ${largest} bytes`;
    // Both together are too large, and so is the second one.
    const batch = await Promise.allSettled([put("a", 6_000), put("b", 20_000), put("c", 6_000)]);
    expect(batch.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(batch[1]).toMatchObject({ reason: { refusal: "too-large", message: refusal } });
    expect([...texts.getKeys()]).toEqual(["a", "c"]);
    await node.close();
  });

  test("refuse a read that is not current when the store closes, without waiting", async () => {
    // A comparison with the log takes two delays, and the end of reading it less than one.
    const log = new MemoryLog({ delayMs: () => 20 });
    const [own, other] = [openNode(freshPath(), log), openNode(freshPath(), log)];
    const started = performance.now();
    const read = own.catchUp();
    await Promise.all([own.close(), other.change(() => numbersOf(other).put("a", 1))]);
    await expect(read).rejects.toThrow("The store is closed");
    expect(performance.now() - started).toBeLessThan(15_000);
    await other.close();
  });

  test("take a change of exactly the largest size, and refuse one that is a byte larger", async () => {
    const largest = 10_000;
    const log = quick();
    const node = openNode(freshPath(), log, undefined, undefined, largest);
    const put = (chars: number) =>
      node.change(() => node.table<string, string>("texts").put("a", "x".repeat(chars)));
    await put(9_000);
    const more = log.entries[0]!.length - 9_000;
    await put(largest - more);
    expect(log.entries.at(-1)).toHaveLength(largest);
    await expect(put(largest - more + 1)).rejects.toThrow("Expected a change of at most 10000");
    await node.close();
  });

  test("take changes that are longer than an entry", async () => {
    const { log, nodes } = openNodes(2);
    const texts = nodes.map((it) => it.table<string, string>("texts"));
    const put = (node: number, key: string, chars: number) =>
      nodes[node]!.change(() => texts[node]!.put(key, key.repeat(chars)));
    // Some of the concurrent changes that consist of several records must be retried.
    const keys = ["a", "b", "c", "d"];
    await Promise.all(keys.map((key, i) => put(i % 2, key, 600_000 + i * 1_000_000)));
    expect(Math.max(...log.entries.map((it) => it!.length))).toBeLessThanOrEqual(1 << 20);
    for (const key of keys) await put(0, key.repeat(2), 2_000_000);
    const third = openNode(freshPath(), log);
    for (const node of [...nodes, third]) {
      await node.catchUp();
      const found = [...node.table<string, string>("texts").getRange({})];
      expect(found.map(({ key, value }) => [key, value.length])).toEqual([
        ["a", 600_000],
        ["aa", 4_000_000],
        ["b", 1_600_000],
        ["bb", 4_000_000],
        ["c", 2_600_000],
        ["cc", 4_000_000],
        ["d", 3_600_000],
        ["dd", 4_000_000],
      ]);
    }
    await closeAll([...nodes, third]);
  }, 300_000);

  test("reject changes and reads while the log is unavailable, and continue afterwards", async () => {
    const { log, nodes } = openNodes(2);
    const node = nodes[0]!;
    await node.change(() => numbersOf(node).put("a", 1));
    log.away = true;
    const refused = await Promise.allSettled([
      node.change(() => numbersOf(node).put("b", 1)),
      node.catchUp(),
    ]);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { refusal: "unavailable" } });
    }
    expect(refused[1]).toMatchObject({
      reason: { message: "The store cannot be read: the brokers do not confirm the newest state" },
    });
    expect(node.trouble()).toBe("The log is away");
    log.away = false;
    await nodes[1]!.change(() => numbersOf(nodes[1]!).put("c", 1));
    await node.catchUp();
    expect([...numbersOf(node).getKeys()]).toEqual(["a", "c"]);
    expect(node.trouble()).toBeUndefined();
    await closeAll(nodes);
  });

  const rounds = runs(8, 25);
  test(`answer ${400 * rounds} calls of many clients in an order that one store would give`, async () => {
    const log = new MemoryLog({
      delayMs: () => Math.random() * 2,
      fate: () => (["lost", "unanswered"] as const)[Math.floor(Math.random() * 60)] ?? "kept",
    });
    const paths = [freshPath(), freshPath(), freshPath()];
    const nodes = paths.map((path) => openNode(path, log));
    let isOver = false;
    // All the while a node is away for a moment, and comes back with what it had, or with nothing.
    const restarts = (async () => {
      for (let round = 0; !isOver; round++) {
        await Bun.sleep(50);
        const stopped = nodes.shift()!;
        await stopped.close();
        const path = round % 10 === 9 ? freshPath() : paths[round % 3]!;
        paths[round % 3] = path;
        nodes.push(openNode(path, log));
      }
    })();
    let calls = 0;
    for (let round = 0; round < rounds; round++) {
      const load = { clients: 24, pairs: 8, callsPerPair: 50, random: Math.random };
      const histories = await runLoad(() => nodes, load, `round ${round}`);
      calls += histories.flat().length;
      expect(unexplained(histories)).toEqual([]);
    }
    isOver = true;
    await restarts;
    expect(calls).toBe(400 * rounds);
    await closeAll(nodes);
  }, 900_000);
});
