import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Key } from "lmdb";
import { pino } from "pino";
import { openView } from "../../src/store/lmdb/view.ts";
import {
  COMPACTION_KEY,
  COMPACTION_TABLE,
  type CompactionProgress,
  type RowKey,
  removeRowsBetween,
  rowsAfter,
} from "../../src/store/ordered/compaction-progress.ts";
import type { CompactionBounds } from "../../src/store/ordered/log-compaction.ts";
import type { LogEntry, OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import type { LocalStore, Store } from "../../src/store/store.ts";
import { runs } from "../tier.ts";
import { until } from "../until.ts";
import { MemoryLog } from "./memory-log.ts";
import { openNode, runLoad, unexplained } from "./nodes.ts";

const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const directory = mkdtempSync(join(root, "pixelmill-rewriting-"));
afterAll(() => rmSync(directory, { recursive: true }));

let paths = 0;
const freshPath = () => join(directory, `${paths++}`, "view.mdb");
const logger = pino({ level: "silent" });

/** Compaction limits that rewrite a log repeatedly, a few rows at a time. */
const tight: CompactionBounds = {
  min: { rows: 30, bytes: 1 << 20 },
  factor: 1,
  portion: { rows: 3, bytes: 400 },
  stalledMs: 20,
  keptMs: 0,
};

const chosen = <T>(some: readonly T[]): T => some[Math.floor(Math.random() * some.length)]!;

/** All rows that nodes share, by table. */
function rowsOf(store: Store, tables: readonly string[]) {
  return tables.map((name) => [...store.table<unknown, Key>(name).getRange({})]);
}

const tables = ["a", "b", "c"];
const openLocal = (): LocalStore => {
  const local = openView({ path: freshPath(), name: "The view", logger });
  for (const name of tables) local.table(name);
  return local;
};

const keys = fc.oneof(
  fc.string({ maxLength: 3 }),
  fc.integer({ min: -3, max: 300 }),
  fc.tuple(fc.constantFrom("x", "y", "\uffff"), fc.string({ maxLength: 2 })),
);
const row = fc.tuple(fc.constantFrom(...tables), keys, fc.integer());

describe("a walk over all rows", () => {
  test("leaves a view that had any rows with those that are walked over, and no others", async () => {
    const [walked, behind] = [openLocal(), openLocal()];
    const fill = (local: LocalStore, rows: [string, Key, number][]) =>
      local.change(() => {
        for (const name of tables) {
          for (const key of [...local.table<number, Key>(name).getKeys({})]) {
            local.table<number, Key>(name).remove(key);
          }
        }
        for (const [name, key, value] of rows) local.table<number, Key>(name).put(key, value);
      });
    const rows = fc.array(row, { maxLength: 30 }) as fc.Arbitrary<[string, Key, number][]>;
    const portions = fc.record({
      rows: fc.integer({ min: 1, max: 8 }),
      bytes: fc.integer({ min: 1, max: 500 }),
    });
    await fc.assert(
      fc.asyncProperty(rows, rows, portions, async (now, before, portion) => {
        await fill(walked, now);
        await fill(behind, before);
        let at: RowKey | undefined;
        do {
          const { writes, next } = rowsAfter(walked, at, portion);
          expect(writes.length).toBeLessThanOrEqual(portion.rows);
          await behind.change(() => {
            removeRowsBetween(behind, at, next);
            for (const write of writes) behind.write(write);
          });
          at = next;
        } while (at !== undefined);
        expect(rowsOf(behind, tables)).toEqual(rowsOf(walked, tables));
      }),
      { numRuns: 300 },
    );
    await Promise.all([walked.close(), behind.close()]);
  }, 300_000);
});

/** The log as a node sees it that may be cut off from one moment to the next. */
class Line implements OrderedLog {
  readonly #log: OrderedLog;
  isCut = false;
  endsAt = Number.POSITIVE_INFINITY;

  constructor(log: OrderedLog) {
    this.#log = log;
  }

  append = (entry: Uint8Array) => this.#while(() => this.#log.append(entry));
  knownEnd = () => this.#while(async () => Math.min(await this.#log.knownEnd(), this.endsAt));
  trim = (position: number) => this.#while(() => this.#log.trim(position));

  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>) {
    let next = 0;
    return this.#log.follow(position, async (entries) => {
      const some = entries.filter((it) => it.position >= next && it.position < this.endsAt);
      if (some.length > 0) await this.#while(() => take(some));
      next = Math.max(next, (some.at(-1)?.position ?? -1) + 1);
      // The same are given again, which are not there yet.
      if (entries.at(-1)!.position >= this.endsAt) throw new Error("Not yet");
    });
  }

  trouble(): string | undefined {
    return this.#log.trouble();
  }

  #while<T>(use: () => Promise<T>): Promise<T> {
    return this.isCut ? Promise.reject(new Error("Cut off")) : use();
  }
}

interface Node {
  store: OrderedStore;
  line: Line;
  path: string;
  /** Rejects when the node crashes. */
  crash: PromiseWithResolvers<never>;
}

/** Nodes on a log that is rewritten all the time, which come and go. */
class Nodes {
  readonly log = new MemoryLog({ delayMs: () => Math.random() * 2 });
  readonly up: Node[] = [];
  readonly down: string[] = [];
  /** Nodes that were disconnected during an operation. */
  readonly crashed: Node[] = [];

  start(path = freshPath()): Node {
    const line = new Line(this.log);
    const crash = Promise.withResolvers<never>();
    crash.promise.catch(() => {});
    const node = { store: openNode(path, line, tight), line, path, crash };
    this.up.push(node);
    return node;
  }

  async stop(): Promise<void> {
    const node = this.#leaving();
    await node.store.close();
    this.down.push(node.path);
  }

  /** Disconnects a node: its pending writes are lost, and its view stays at this moment. */
  crash(): void {
    const node = this.#leaving();
    node.line.isCut = true;
    node.crash.reject(new Error("The node is closed by a crash"));
    this.crashed.push(node);
  }

  async close(): Promise<void> {
    // One that crashed waits for answers that never come.
    for (const { store } of this.crashed) void store.close();
    await Promise.all(this.up.map(({ store }) => store.close()));
  }

  #leaving(): Node {
    return this.up.splice(Math.floor(Math.random() * this.up.length), 1)[0]!;
  }
}

async function readAnywhere(nodes: Nodes, table: string, key: string): Promise<unknown> {
  for (;;) {
    const { store, crash } = chosen(nodes.up);
    try {
      await Promise.race([store.recover(), crash.promise]);
      return store.table<unknown, string>(table).get(key);
    } catch {
      // It was stopped meanwhile.
    }
  }
}

/** Changes keys of its own through any node, and knows what must be in them. */
async function client(name: number, nodes: Nodes, changes: number, model: Map<string, unknown>) {
  const known = new Map<string, unknown>();
  for (let i = 0; i < changes; i++) {
    const { store, crash } = chosen(nodes.up);
    const table = chosen(["numbers", "texts"]);
    const key = `${name}/${Math.floor(Math.random() * 12)}`;
    const value = Math.random() < 0.3 ? undefined : `${i} ${"x".repeat(Math.random() * 200)}`;
    const before = () => known.get(`${table} ${key}`);
    try {
      const rows = store.table<unknown, string>(table);
      const allowStale = Math.random() < 0.5;
      const changed = store.change(
        () => {
          // One that must know everything finds what the same client left.
          if (!allowStale && rows.get(key) !== before()) throw new Error(`${key} is not as it was`);
          if (value === undefined) rows.remove(key);
          else rows.put(key, value);
        },
        { allowStale },
      );
      await Promise.race([changed, crash.promise]);
      known.set(`${table} ${key}`, value);
    } catch (error) {
      if (!/could not be stored|closed|behind|compared/.test((error as Error).message)) throw error;
      // It may have taken effect, or not; after a while that is certain.
      await Bun.sleep(30);
      known.set(`${table} ${key}`, await readAnywhere(nodes, table, key));
    }
  }
  for (const [key, value] of known) if (value !== undefined) model.set(key, value);
}

function contentOf(store: Store): Map<string, unknown> {
  const content = new Map<string, unknown>();
  for (const table of ["numbers", "texts"]) {
    for (const { key, value } of store.table<unknown, string>(table).getRange({})) {
      content.set(`${table} ${key}`, value);
    }
  }
  return content;
}

const sorted = (content: Map<string, unknown>) => [...content].sort(([a], [b]) => (a < b ? -1 : 1));

/** A log that never deletes entries. */
class UntrimmedLog extends MemoryLog {
  trims = 0;

  override async trim(): Promise<void> {
    this.trims++;
    throw new Error("Not now");
  }
}

/** Pause after a failed compaction. */
const RETRY_MS = 5_000;

describe("a compaction", () => {
  test("that failed is not tried again with each change", async () => {
    const log = new UntrimmedLog({ delayMs: () => 0 });
    const node = openNode(freshPath(), log, tight);
    const numbers = node.table<number, string>("numbers");
    for (let i = 0; log.trims === 0; i++) await node.change(() => numbers.put("n", i));
    const failedAt = performance.now();
    for (let i = 0; i < 100; i++) await node.change(() => numbers.put("n", i));
    const pauses = Math.floor((performance.now() - failedAt) / RETRY_MS);
    expect(log.trims).toBeLessThanOrEqual(1 + pauses);
    await node.close();
  }, 300_000);

  test("begins at a number of bytes, whatever the number of rows", async () => {
    const log = new UntrimmedLog({ delayMs: () => 0 });
    const bounds = { ...tight, min: { rows: 1e9, bytes: 5_000 } };
    const node = openNode(freshPath(), log, bounds);
    const texts = node.table<string, string>("texts");
    while (log.trims === 0) {
      await node.change(() => texts.put("n", "x".repeat(100)));
      await Bun.sleep(0);
    }
    await node.close();
  }, 300_000);

  test("ends without a warning when its store is closed", async () => {
    const lines: string[] = [];
    const warnings = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
    const local = openLocal();
    const bounds = { ...tight, portion: { rows: 1, bytes: 1 << 20 } };
    const parts = { local, log: new MemoryLog({ delayMs: () => 0 }), bounds };
    const store = new OrderedStore({ ...parts, name: "The store", logger: warnings });
    const numbers = store.table<number, string>("a");
    await store.change(() => {
      for (let i = 0; i < 300; i++) numbers.put(`${i}`, i);
    });
    const progress = () =>
      store.table<CompactionProgress, string>(COMPACTION_TABLE).get(COMPACTION_KEY);
    for (let i = 0; (progress()?.rows ?? 0) === 0; i++) {
      await store.change(() => numbers.put("n", i));
    }
    expect(progress()).toMatchObject({ isDone: false });
    await store.close();
    expect(lines).toEqual([]);
  }, 300_000);
});

describe("a log that is rewritten", () => {
  test("stays short when nodes only read, and loses no row", async () => {
    const nodes = new Nodes();
    const stores = [nodes.start(), nodes.start()].map((it) => it.store);
    const table = stores[0]!.table<number, string>("numbers");
    const rows = [..."abcdefghij"].map((key, value) => ({ key, value }));
    await stores[0]!.change(() => {
      for (const { key, value } of rows) table.put(key, value);
    });
    let longest = 0;
    // Each read of a node appends a barrier.
    for (let n = 0; n < 600; n++) {
      await stores[n % 2]!.catchUp();
      longest = Math.max(longest, nodes.log.entries.length - nodes.log.first);
    }
    expect(nodes.log.entries.length).toBeGreaterThan(600);
    expect(longest).toBeLessThan(300);
    const late = nodes.start().store;
    for (const store of [...stores, late]) {
      await store.catchUp();
      expect([...store.table("numbers").getRange({})]).toEqual(rows);
    }
    await nodes.close();
  }, 300_000);

  test("gives every node what clients were answered, however nodes come, go, lag and crash", async () => {
    const nodes = new Nodes();
    for (let i = 0; i < 3; i++) nodes.start();
    const model = new Map<string, unknown>();
    let isOver = false;
    const weather = (async () => {
      while (!isOver) {
        await Bun.sleep(30);
        const event = Math.random();
        if (event < 0.3 && nodes.up.length > 2) await nodes.stop();
        else if (event < 0.5 && nodes.up.length > 2) nodes.crash();
        else if (event < 0.75 && nodes.down.length > 0) nodes.start(nodes.down.shift());
        else if (nodes.up.length < 4) nodes.start();
      }
    })();
    const clients = Array.from({ length: 8 }, (_, name) =>
      client(name, nodes, runs(75, 150), model),
    );
    await Promise.all(clients);
    isOver = true;
    await weather;
    nodes.start();
    for (const path of nodes.down) nodes.start(path);
    for (const { store } of nodes.up) {
      await store.recover();
      expect(sorted(contentOf(store))).toEqual(sorted(model));
    }
    // Reads append barriers: walks end and trim the log, at the pace that their share of time
    // allows.
    await until(async () => {
      await nodes.up[0]!.store.catchUp();
      return nodes.log.first > 0;
    });
    await nodes.close();
  }, 300_000);

  test("is complete for a node that starts during the rewrite, however large the store", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const first = openNode(freshPath(), log, { ...tight, portion: { rows: 50, bytes: 1 << 20 } });
    const numbers = first.table<number, string>("numbers");
    for (let i = 0; i < 500; i++) await first.change(() => numbers.put(`${i}`, i));
    const walked = log.first;
    for (let i = 0; log.first === walked; i++) await first.change(() => numbers.put("n", i));
    const late = openNode(freshPath(), log, tight);
    expect(late.trouble() ?? "").toBe("");
    await late.recover();
    expect(contentOf(late)).toEqual(contentOf(first));
    expect([...late.table("numbers").getKeys({})]).toHaveLength(501);
    await Promise.all([first.close(), late.close()]);
  }, 300_000);

  test("removes rows that were deleted meanwhile from a node that was away for longer than entries are kept", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const first = openNode(freshPath(), log, tight);
    const path = freshPath();
    const away = openNode(path, log, tight);
    const put = (store: Store, key: string) =>
      store.change(() => store.table<number, string>("numbers").put(key, 1));
    for (const key of ["a", "b", "c"]) await put(away, key);
    await away.close();
    await first.change(() => {
      for (const key of ["a", "c"]) first.table<number, string>("numbers").remove(key);
    });
    const trimmed = log.first;
    for (let i = 0; log.first === trimmed; i++) await put(first, `${i % 5}`);
    const back = openNode(path, log, tight);
    await back.recover();
    expect(contentOf(back)).toEqual(contentOf(first));
    expect(contentOf(back).has("numbers b")).toBe(true);
    expect(contentOf(back).has("numbers a")).toBe(false);
    await put(back, "again");
    await first.catchUp();
    expect(contentOf(first).has("numbers again")).toBe(true);
    await Promise.all([first.close(), back.close()]);
  }, 300_000);

  test("is neither read nor used for changes before its first walk has ended", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const first = openNode(freshPath(), log, tight);
    const numbers = first.table<number, string>("numbers");
    for (let i = 0; log.first === 0; i++) await first.change(() => numbers.put(`${i % 20}`, i));
    const line = new Line(log);
    // The log has nothing yet after the first steps of the walk.
    line.endsAt = log.first + 4;
    const late = openNode(freshPath(), line, tight);
    while (late.trouble() === undefined) await Bun.sleep(5);
    const answers = [
      late.catchUp(),
      late.change(() => late.table<number, string>("numbers").put("x", 1), { allowStale: true }),
    ];
    expect(late.trouble()).toBe("The store is being read");
    expect(await Promise.race([...answers, Bun.sleep(200).then(() => "nothing")])).toBe("nothing");
    line.endsAt = Number.POSITIVE_INFINITY;
    await Promise.all(answers);
    await first.catchUp();
    expect(contentOf(late)).toEqual(contentOf(first));
    expect(numbers.get("x")).toBe(1);
    await Promise.all([first.close(), late.close()]);
  }, 300_000);

  test("is not read as complete when it does not begin with a walk", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const first = openNode(freshPath(), log);
    const numbers = first.table<number, string>("numbers");
    for (let i = 0; i < 10; i++) await first.change(() => numbers.put(`${i}`, i));
    await log.trim(5);
    const late = openNode(freshPath(), log);
    const read = await Promise.race([late.recover().then(() => "whole"), Bun.sleep(300)]);
    expect(read).toBeUndefined();
    expect([...late.table("numbers").getKeys({})]).toEqual([]);
    await Promise.all([first.close(), late.close()]);
  }, 300_000);

  test("answers thousands of calls of many clients in an order that one store would give", async () => {
    const nodes = new Nodes();
    for (let i = 0; i < 3; i++) nodes.start();
    let isOver = false;
    const restarts = (async () => {
      while (!isOver) {
        await Bun.sleep(50);
        await nodes.stop();
        // The one that is down for longest comes back, or one that has nothing.
        if (Math.random() < 0.2) nodes.start();
        else nodes.start(nodes.down.shift());
      }
    })();
    let calls = 0;
    const rounds = runs(8, 25);
    for (let round = 0; round < rounds; round++) {
      const load = { clients: 24, pairs: 8, callsPerPair: 50, random: Math.random };
      const histories = await runLoad(() => nodes.up.map((it) => it.store), load, `round ${round}`);
      calls += histories.flat().length;
      expect(unexplained(histories)).toEqual([]);
    }
    isOver = true;
    await restarts;
    expect(calls).toBe(rounds * 400);
    expect(nodes.log.first).toBeGreaterThan(0);
    await nodes.close();
  }, 300_000);
});
