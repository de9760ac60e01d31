import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ApiError } from "../../src/errors.ts";
import type { LogEntry, OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import type { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { runs } from "../tier.ts";
import { holds } from "../until.ts";
import { openNode } from "./nodes.ts";

const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const directory = mkdtempSync(join(root, "pixelmill-replaced-"));
afterAll(() => rmSync(directory, { recursive: true }));

let paths = 0;

/** A log whose leader can be replaced. A replaced leader continues to answer, and knows no more. */
class ReplicatedLog {
  readonly entries: Uint8Array[] = [];
  /** End of the log when each former leader was replaced. */
  readonly #ends: number[] = [];

  get leader(): number {
    return this.#ends.length;
  }

  replaceLeader(): void {
    this.#ends.push(this.entries.length);
  }

  endOf(leader: number): number {
    return this.#ends[leader] ?? this.entries.length;
  }
}

/** The log as a node reaches it: through the broker that the node takes for the leader. */
class LogAtNode implements OrderedLog {
  readonly #log: ReplicatedLog;
  #leader: number;
  /** Appends at a leader that was replaced, which it never acknowledges. */
  #held: { entry: Uint8Array; resolve(position: number): void }[] = [];

  constructor(log: ReplicatedLog) {
    this.#log = log;
    this.#leader = log.leader;
  }

  /** Learns of the present leader, and sends to it what its predecessor did not acknowledge. */
  learn(): void {
    this.#leader = this.#log.leader;
    const held = this.#held;
    this.#held = [];
    for (const { entry, resolve } of held) void this.append(entry).then(resolve);
  }

  async append(entry: Uint8Array): Promise<number> {
    await Bun.sleep(0);
    const { promise, resolve } = Promise.withResolvers<number>();
    if (this.#leader < this.#log.leader) this.#held.push({ entry, resolve });
    else resolve(this.#log.entries.push(entry.slice()) - 1);
    return await promise;
  }

  async knownEnd(): Promise<number> {
    await Bun.sleep(0);
    return this.#log.endOf(this.#leader);
  }

  async trim(): Promise<void> {}

  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>) {
    let isOpen = true;
    const following = (async () => {
      for (let next = position; isOpen; ) {
        await Bun.sleep(0);
        const found = this.#log.entries.slice(next, this.#log.endOf(this.#leader));
        if (found.length === 0) continue;
        await take(found.map((bytes, index) => ({ position: next + index, bytes })));
        next += found.length;
      }
    })();
    return {
      close() {
        isOpen = false;
        return following;
      },
    };
  }

  trouble(): undefined {
    return undefined;
  }
}

const NODES = 3;
const node = fc.nat(NODES - 1);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant("write" as const), node }) },
  { weight: 6, arbitrary: fc.record({ act: fc.constant("read" as const), node }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("replace" as const), node }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("learn" as const), node }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("wait" as const), node }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Nodes on a log, and what their clients were answered. */
class Cluster {
  readonly log = new ReplicatedLog();
  readonly lines = Array.from({ length: NODES }, () => new LogAtNode(this.log));
  readonly stores: OrderedStore[] = this.lines.map((line) =>
    openNode(join(directory, `${paths++}.mdb`), line),
  );
  readonly calls: Promise<void>[] = [];
  readonly stale: string[] = [];
  /** Largest number of an answered change. */
  #answered = 0;
  #written = 0;
  reads = 0;

  async do({ act, node }: Step): Promise<void> {
    if (act === "write") this.calls.push(this.#write(this.stores[node]!));
    if (act === "read") this.calls.push(this.#read(this.stores[node]!));
    if (act === "replace") this.log.replaceLeader();
    if (act === "learn") this.lines[node]!.learn();
    if (act === "wait") await Bun.sleep(1);
  }

  /** Lets all nodes learn of the leader, and waits for all answers. */
  async settle(): Promise<void> {
    for (const line of this.lines) line.learn();
    await Promise.all(this.calls);
    await Promise.all(this.stores.map((it) => it.close()));
  }

  async #write(store: OrderedStore): Promise<void> {
    const number = ++this.#written;
    const numbers = store.table<number, string>("numbers");
    const largest = await store.change(() => {
      const next = Math.max(number, numbers.get("n") ?? 0);
      numbers.put("n", next);
      return next;
    });
    this.#answered = Math.max(this.#answered, largest);
  }

  async #read(store: OrderedStore): Promise<void> {
    const expected = this.#answered;
    try {
      await store.catchUp();
    } catch (error) {
      if (error instanceof ApiError && error.refusal === "unavailable") return;
      throw error;
    }
    this.reads += 1;
    const found = store.table<number, string>("numbers").get("n") ?? 0;
    if (found < expected) this.stale.push(`read ${found} after ${expected} was stored`);
  }
}

test("no read is older than a change that was answered before it began, while leaders are replaced", async () => {
  let reads = 0;
  const schedule = fc.array(step, { minLength: 10, maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(schedule, async (steps) => {
      const cluster = new Cluster();
      for (const it of steps) await cluster.do(it);
      await cluster.settle();
      expect(cluster.stale).toEqual([]);
      reads += cluster.reads;
    }),
    { numRuns: runs(40, 1_000) },
  );
  expect(reads).toBeGreaterThan(0);
}, 300_000);

test("a read through a replaced leader waits until the node learns of the new one", async () => {
  const cluster = new Cluster();
  const [first, second] = cluster.stores as [OrderedStore, OrderedStore];
  await second.catchUp();
  cluster.log.replaceLeader();
  cluster.lines[0]!.learn();
  await first.change(() => first.table<number, string>("numbers").put("n", 1));
  let found: number | undefined | null = null;
  const read = second.catchUp().then(() => {
    found = second.table<number, string>("numbers").get("n");
  });
  await holds(5, () => expect(found).toBeNull());
  cluster.lines[1]!.learn();
  await read;
  expect(found as unknown).toBe(1);
  await cluster.settle();
});

test("a refusal by a change's own rule has seen what other nodes changed under a new leader", async () => {
  const cluster = new Cluster();
  const [first, second] = cluster.stores as [OrderedStore, OrderedStore];
  const numbers = (store: OrderedStore) => store.table<number, string>("numbers");
  await first.change(() => numbers(first).put("n", 1));
  await second.catchUp();
  cluster.log.replaceLeader();
  cluster.lines[0]!.learn();
  await first.change(() => numbers(first).remove("n"));
  const outcomes: string[] = [];
  const calls = [
    // One change writes nothing, the other one is refused.
    second.change(() => numbers(second).get("n")).then((n) => outcomes.push(`n is ${n}`)),
    second
      .change(() => {
        if (numbers(second).get("n") !== undefined) throw new ApiError("conflict", "Taken");
      })
      .then(
        () => outcomes.push("free"),
        (error) => outcomes.push(error.message),
      ),
  ];
  await holds(5, () => expect(outcomes).toEqual([]));
  cluster.lines[1]!.learn();
  await Promise.all(calls);
  expect(outcomes).toEqual(["n is undefined", "free"]);
  await cluster.settle();
});
