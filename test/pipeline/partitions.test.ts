import { afterEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { createMetrics } from "../../src/observe/metrics.ts";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import { Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { firstIdAt } from "../../src/pipeline/ledger/letter-keys.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX } from "../../src/pipeline/ledger/letter-tables.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { createPipelineHost } from "../../src/pipeline/pipeline.ts";
import { REPLAYS_OF_WORKSPACE_MAX } from "../../src/settings/limits.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { revocable } from "../../src/store/revocable-store.ts";
import { type Store, withoutClose } from "../../src/store/store.ts";
import { runs } from "../tier.ts";
import { commitLetters, decode, eventOf, MemoryLog, record } from "./doubles.ts";
import { Rig, sorted, until } from "./rig.ts";

const logger = pino({ level: "silent" });
let directories: string[] = [];
afterEach(async () => {
  for (const directory of directories) rmSync(directory, { recursive: true });
  directories = [];
});

function directoryOf(): string {
  const directory = mkdtempSync(join(tmpdir(), "lines-"));
  directories.push(directory);
  return directory;
}

const ledgerOf = () => openLedger(directoryOf(), logger);

/** A store whose changes and reads of other nodes' changes wait forever while `isHung`. */
class HangingStore {
  readonly #store = openStore({
    ...{ path: directoryOf(), name: "The ledger", logger },
  });
  isHung = false;
  /** Number of calls that wait. */
  waiting = 0;
  readonly store: Store = {
    ...withoutClose(this.#store),
    change: (apply, options) => this.#hang() ?? this.#store.change(apply, options),
    catchUp: () => this.#hang() ?? this.#store.catchUp(),
  };

  close = () => this.#store.close();

  #hang(): Promise<never> | undefined {
    if (!this.isHung) return undefined;
    this.waiting += 1;
    return new Promise(() => {});
  }
}

/** Partitions over the logs `a` and `b`, each with a ledger, and one webhook for their events. */
function twoLines(first = ledgerOf()) {
  const rig = new Rig();
  const sink = rig.webhook("d");
  const logs = ["a", "b"].map((name) => new MemoryLog(name));
  const ledgers = [first, ledgerOf()];
  const lines = createPipelineHost({
    ...{ live: rig.live, sandbox: rig.sandbox, kinds: rig.kinds, decode, eventOf, logger },
    ledgers: () => ledgers,
    readers: new Map(logs.map((log) => [log.name, log])),
    onDurable(listener) {
      const ends = logs.map((log) => log.onDurable(listener));
      return () => {
        for (const end of ends) end();
      };
    },
    retryWindowMs: 3_600_000,
    metrics: createMetrics(),
  });
  const open = (at: 0 | 1) => lines.open(ledgers[at]!, new Map([[logs[at]!.name, logs[at]!]]));
  const end = async () => {
    await lines.close();
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await rig.end();
  };
  return { rig, sink, lines, open, end, ledgers, a: logs[0]!, b: logs[1]! };
}

test("a partition delivers the events of its own logs, and stops when it closes", async () => {
  const { sink, lines, open, end, a, b } = twoLines();
  const first = open(0);
  a.append(record(1));
  b.append(record(2));
  await until(() => sink.taken.length === 1);
  expect(sink.numbers()).toEqual([1]);
  const second = open(1);
  await until(() => sink.taken.length === 2);
  await first.close();
  a.append(record(3));
  b.append(record(4));
  await until(() => sink.taken.length === 3);
  expect(sink.numbers()).toEqual([1, 2, 4]);
  await until(() => lines.status("d")?.lagEvents === 0);
  await second.close();
  expect(lines.status("d")).toBeUndefined();
  open(0);
  await until(() => sink.taken.length === 4);
  expect(sorted(sink.numbers())).toEqual([1, 2, 3, 4]);
  await end();
});

test("a partition whose ledger cannot be written stops once its store is revoked", async () => {
  const hanging = new HangingStore();
  const store = revocable(hanging.store);
  const { rig, sink, lines, open, end, ledgers, a } = twoLines(new Ledger(store, logger));
  const of = { workspaceId: "workspace", destinationId: "d", text: '{"n":0}' };
  const letters = Array.from({ length: 100 }, (_, n) => ({ ...letter(n, 10), ...of }));
  await commitLetters(ledgers[0]!, letters);
  rig.webhook("deleted");
  const partition = open(0);
  a.append(record(1));
  await until(() => lines.status("deleted")?.lagEvents === 0);
  // A step of a job, the removal of a lane, and a commit of a delivery wait for the ledger.
  await lines.replays.startLetters("workspace", { kind: "dead-letters", filter: {}, rate: 4 });
  hanging.isHung = true;
  rig.live.remove("deleted");
  a.append(record(2));
  // In any order: a commit of earlier deliveries may be the first that hangs.
  await until(() => sink.numbers().includes(2) && hanging.waiting >= 3);
  store.revoke();
  await partition.close(0);
  await ledgers[0]!.close();
  await expect(ledgers[0]!.requeue("w", ["a"], 0)).rejects.toThrow("given up");
  hanging.isHung = false;
  await end();
  await hanging.close();
});

function letter(n: number, chars: number): StoredLetter {
  return {
    ...{ id: Bun.randomUUIDv7("hex", n * 1_000), workspaceId: "w", destinationId: `d${n % 3}` },
    ...{ sourceId: "s", messageId: "m", text: JSON.stringify("x".repeat(chars)) },
    ...{ stage: "deliver", reason: `reason ${n % 2}`, attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: n * 1_000 },
  };
}

test("the dead letters of several ledgers are listed as those of one", async () => {
  const huge = 3 << 20;
  const shapes = fc.array(fc.record({ at: fc.nat(2), huge: fc.integer({ min: 0, max: 19 }) }), {
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(shapes, fc.integer({ min: 1, max: 7 }), async (shape, count) => {
      const all = [0, 1, 2, 3].map(() => ledgerOf());
      const [one, ...several] = all;
      const letters = shape.map((it, n) => letter(n + 1, it.huge === 0 ? huge : 10));
      await commitLetters(one!, letters);
      for (const [at, ledger] of several.entries()) {
        await commitLetters(
          ledger,
          letters.filter((_, n) => shape[n]!.at === at),
        );
      }
      const look = (ledgers: Ledger[]) =>
        new DeadLetters(
          () => ledgers,
          () => {},
          Date.now,
        );
      const [expected, found] = [look([one!]), look(several)];
      const pages = (from: typeof found) => {
        const ids: string[] = [];
        for (;;) {
          const after = ids.at(-1) ?? "";
          const page = from.find("w", { after, count }).letters;
          if (page.length === 0) return ids;
          expect(page.length).toBeLessThanOrEqual(count);
          ids.push(...page.map(({ id }) => id));
        }
      };
      expect(pages(found)).toEqual(pages(expected));
      expect(found.count("w")).toBe(letters.length);
      expect(found.groups("w")).toEqual(expected.groups("w"));
      const part = { after: "", before: firstIdAt(20_000), count };
      expect(found.ids("w", {}, part).ids).toEqual(expected.ids("w", {}, part).ids);
      const ids = letters.filter((_, n) => n % 2 === 0).map(({ id }) => id);
      for (const id of ids) expect(found.get("w", id)).toEqual(expected.get("w", id));
      expect(await found.purge("w", ids)).toEqual({ purged: ids.length });
      expect(found.count("w")).toBe(letters.length - ids.length);
      await Promise.all(all.map((ledger) => ledger.close()));
    }),
    { numRuns: runs(6, 15) },
  );
}, 300_000);

test("a page of large dead letters of several ledgers reads no more than it has", async () => {
  const ledgers = [ledgerOf(), ledgerOf(), ledgerOf()];
  const letters = Array.from({ length: 30 }, (_, n) => letter(n, DEAD_LETTERS_PAGE_CHARS_MAX / 4));
  for (const [at, ledger] of ledgers.entries()) {
    await commitLetters(
      ledger,
      letters.filter((_, n) => n % 3 === at),
    );
  }
  const reads = ledgers.map(({ letters }) => spyOn(letters, "get"));
  const deadLetters = new DeadLetters(
    () => ledgers,
    () => {},
    Date.now,
  );
  const page = deadLetters.find("w", { count: 20 });
  expect(page.letters.map(({ id }) => id)).toEqual(letters.slice(0, 4).map(({ id }) => id));
  expect(page.reached).toBe(letters[3]!.id);
  expect(reads.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(4);
  await Promise.all(ledgers.map((ledger) => ledger.close()));
});

test("a replay of dead letters keeps to its rate over all ledgers together", async () => {
  const { lines, end, ledgers } = twoLines();
  await commitLetters(
    ledgers[0]!,
    [1, 2, 3].map((n) => letter(n, 10)),
  );
  await commitLetters(ledgers[1]!, [letter(4, 10)]);
  const asked = { kind: "dead-letters" as const, filter: {}, rate: 8 };
  const job = await lines.replays.startLetters("w", asked);
  const rates = ledgers.map((ledger) => ledger.jobs.get("w", job.id)!.rate);
  expect(rates).toEqual([6, 2]);
  expect(lines.replays.get("w", job.id)).toMatchObject({ rate: 8, total: 4 });
  await end();
});

test("a replay that one ledger refuses starts in no ledger", async () => {
  const { lines, end, ledgers } = twoLines();
  const [one, other] = ledgers as [Ledger, Ledger];
  const asked = { destinationId: "d", from: 1 };
  const running = () => ledgers.map(({ jobs }) => jobs.running().map(({ kind }) => kind));
  const first = await lines.replays.start("workspace", asked);
  await one.changeJobs((jobs) => jobs.end("workspace", first.id, { state: "done", endedAt: 9 }));
  await expect(lines.replays.start("workspace", asked)).rejects.toThrow("is running already");
  expect(running()).toEqual([[], ["events"]]);
  for (let n = 1; n < REPLAYS_OF_WORKSPACE_MAX; n++) {
    await other.changeJobs((jobs) => jobs.start({ ...first, id: `${n}`, destinationId: `${n}` }));
  }
  const purge = lines.replays.startLetters("workspace", { kind: "purge", filter: {} });
  await expect(purge).rejects.toThrow("to run in a workspace");
  expect(running()[0]).toEqual([]);
  expect(lines.replays.list("workspace")).toHaveLength(REPLAYS_OF_WORKSPACE_MAX);
  await end();
});

test("a replay that one ledger cannot store ends in the others", async () => {
  const { store, close } = new HangingStore();
  const lost = revocable(store);
  const { lines, end, ledgers } = twoLines();
  ledgers[1] = new Ledger(lost, logger);
  lost.revoke();
  const started = lines.replays.start("workspace", { destinationId: "d", from: 1 });
  await expect(started).rejects.toThrow("given up");
  expect(ledgers[0]!.jobs.running()).toEqual([]);
  expect(lines.replays.list("workspace")).toMatchObject([{ state: "failed" }]);
  await end();
  await close();
});
