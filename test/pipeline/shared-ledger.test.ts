import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { LaneChange } from "../../src/pipeline/ledger/ledger.ts";
import { type LaneCommitSource, Ledger } from "../../src/pipeline/ledger/ledger.ts";
import type { RepetitionRow } from "../../src/pipeline/ledger/repetition-table.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { type EventJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import type { LogEntry, OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { type Store, withoutClose } from "../../src/store/store.ts";
import { MemoryLog } from "../store/memory-log.ts";
import { fail } from "./doubles.ts";
import { until } from "./rig.ts";

const directory = mkdtempSync(
  join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "pixelmill-shared-ledger-"),
);
afterAll(() => rmSync(directory, { recursive: true }));

const logger = pino({ level: "silent" });
let paths = 0;

function openNode(log: OrderedLog): Store {
  const path = join(directory, `${paths++}.mdb`);
  const name = "The ledger";
  const local = openView({ path, name, logger });
  return new OrderedStore({ local, log, name, logger });
}

/** A log that a node writes to and, for a while, hears nothing of. */
class Deafening implements OrderedLog {
  readonly #log: OrderedLog;
  isDeaf = false;

  constructor(log: OrderedLog) {
    this.#log = log;
  }

  append(entry: Uint8Array): Promise<number> {
    return this.#log.append(entry);
  }

  knownEnd(): Promise<number> {
    return this.#log.knownEnd();
  }

  trim(position: number): Promise<void> {
    return this.#log.trim(position);
  }

  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>) {
    return this.#log.follow(position, (entries) =>
      this.isDeaf ? Promise.reject(new Error("Deaf")) : take(entries),
    );
  }

  trouble(): string | undefined {
    return this.#log.trouble();
  }
}

const open = (store: Store) => new Ledger(withoutClose(store), logger);

interface Owner {
  ledger: Ledger;
  lost: number;
  replays: string[];
}

async function own(store: Store, node: string): Promise<Owner> {
  const ledger = open(store);
  const owner: Owner = { ledger, lost: 0, replays: [] };
  await ledger.claim(node, {
    onLost: () => {
      owner.lost += 1;
    },
    onReplaysChanged: (ids) => owner.replays.push(...ids),
  });
  return owner;
}

const eventJob = (id: string, destinationId: string) =>
  ({
    ...{ id, workspaceId: "w", state: "running", rate: 10, createdAt: 1, counts: noCounts },
    ...{ kind: "events", destinationId },
  }) as EventJob;

function letter(id: string): StoredLetter {
  return {
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: id, text: "{}" },
    ...{ stage: "deliver", reason: "", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 0 },
  };
}

function changeTo(next: number, more: Partial<LaneChange> = {}): LaneChange {
  const record = { logs: { k0: { next, pending: [] } }, known: {} };
  return { destinationId: "d", record, deadLetters: [], settledRequeued: [], ...more };
}

/** Schedules one change; resolves once the lane learns that it is committed. */
function commit(ledger: Ledger, change: LaneChange): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const committer: LaneCommitSource = { collect: () => change, committed: () => resolve(), fail };
  ledger.schedule(committer);
  return promise;
}

const nextOf = (ledger: Ledger) => ledger.lane("d")?.logs.k0?.next;

describe("shared ledger", () => {
  test("a shared ledger takes commits only of the last node that claimed it", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const [first, second] = [openNode(log), openNode(log)];
    const one = await own(first, "one");
    await commit(one.ledger, changeTo(1));
    const other = await own(second, "other");
    expect(nextOf(other.ledger)).toBe(1);
    let isTold = false;
    void commit(one.ledger, changeTo(2)).then(() => {
      isTold = true;
    });
    await commit(other.ledger, changeTo(3, { deadLetters: [letter("a")] }));
    await until(() => one.lost > 0);
    await first.catchUp();
    expect(nextOf(one.ledger)).toBe(3);
    expect(one.ledger.owner()?.node).toBe("other");
    await expect(one.ledger.remove("d", true)).rejects.toThrow("other");
    await one.ledger.close();
    expect({ isTold, lost: one.lost, others: other.lost }).toEqual({
      ...{ isTold: false, lost: 1, others: 0 },
    });
    expect(other.ledger.letters.countOf("w")).toBe(1);
    await other.ledger.close();
    await Promise.all([first.close(), second.close()]);
  });

  test("repeated events that a node stored are known to the node that takes over, and to readers", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const [first, second] = [openNode(log), openNode(log)];
    const one = await own(first, "one");
    const found = [{ log: "k0", rows: [[8, "k0", 3, 1_000]] as RepetitionRow[] }];
    await one.ledger.repetitions.put(found, [], { k0: 9 });
    const other = await own(second, "other");
    expect([...other.ledger.repetitions.lots()]).toEqual(found);
    expect(other.ledger.repetitions.positions()).toEqual({ k0: 9 });
    expect(open(second).repetitions.find("k0", 8)).toEqual([8, "k0", 3, 1_000]);
    const late = one.ledger.repetitions.put([], [["k0", 8]], { k0: 5 });
    await expect(late).rejects.toThrow("other");
    expect(other.ledger.repetitions.positions()).toEqual({ k0: 9 });
    await Promise.all([one.ledger.close(), other.ledger.close()]);
    await Promise.all([first.close(), second.close()]);
  });

  test("a shared ledger refuses the commit of a node that has lost it unawares", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const paused = new Deafening(log);
    const [first, second] = [openNode(paused), openNode(log)];
    const one = await own(first, "one");
    await commit(one.ledger, changeTo(1));
    paused.isDeaf = true;
    const other = await own(second, "other");
    void commit(one.ledger, changeTo(2, { deadLetters: [letter("zombie")] }));
    await commit(other.ledger, changeTo(3));
    paused.isDeaf = false;
    await until(() => one.lost > 0);
    await second.catchUp();
    expect(nextOf(other.ledger)).toBe(3);
    expect(other.ledger.letters.countOf("w")).toBe(0);
    await Promise.all([one.ledger.close(), other.ledger.close()]);
    await Promise.all([first.close(), second.close()]);
  });

  test("a shared ledger lets any node replay and purge, and notifies its owner of replays", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const [first, second] = [openNode(log), openNode(log)];
    const owner = await own(first, "one");
    const letters = ["a", "b", "c", "d"].map(letter);
    await commit(owner.ledger, changeTo(1, { deadLetters: letters }));
    const busy = new Set<string>();
    const [api, near] = [open(second), open(first)];
    expect(await api.requeue("w", ["b"], 0)).toEqual({ destinationIds: ["d"], done: 1 });
    await until(() => owner.replays.length > 0);
    for (const replay of owner.ledger.requeued.oldest("d", busy, 9)) busy.add(replay.letter.id);
    expect([...busy]).toEqual(["b"]);
    // Looked at from the start: an older one came from elsewhere, and one from this very node.
    await api.requeue("w", ["a"], 0);
    await near.requeue("w", ["d"], 0);
    await until(() => owner.replays.length > 2);
    const found = owner.ledger.requeued.oldest("d", busy, 9).map((it) => it.letter.id);
    expect(found).toEqual(["a", "d"]);
    expect(await api.purge("w", ["c", "unknown"])).toEqual({ purged: 1, done: 2 });
    await first.catchUp();
    expect(owner.ledger.letters.countOf("w")).toBe(0);
    for (const ledger of [owner.ledger, api, near]) await ledger.close();
    await Promise.all([first.close(), second.close()]);
  });

  test("a shared ledger notifies its owner of replay jobs that begin and end at another node", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const [first, second] = [openNode(log), openNode(log)];
    const owner = await own(first, "one");
    const api = open(second);
    await api.changeJobs((jobs) => jobs.start(eventJob("job", "d")));
    await until(() => owner.replays.length > 0);
    await api.changeJobs((jobs) => jobs.put({ ...eventJob("job", "d"), rate: 5 }));
    await first.catchUp();
    expect(owner.replays).toEqual(["d"]);
    await api.changeJobs((jobs) => jobs.end("w", "job", { state: "cancelled", endedAt: 2 }));
    await until(() => owner.replays.length > 1);
    expect(owner.replays).toEqual(["d", "d"]);
    // No job ran at the last change, so that none has ended.
    await api.changeJobs((jobs) => jobs.start(eventJob("next", "e")));
    await until(() => owner.replays.length > 2);
    expect(owner.replays).toEqual(["d", "d", "e"]);
    for (const it of [owner.ledger, api, first, second]) await it.close();
  });

  test("a shared ledger notifies a node that has lost it of no replay jobs", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const heard = new Deafening(log);
    const [first, second] = [openNode(heard), openNode(log)];
    const one = await own(first, "one");
    heard.isDeaf = true;
    const other = await own(second, "other");
    await other.ledger.changeJobs((jobs) => jobs.start(eventJob("job", "d")));
    heard.isDeaf = false;
    await first.catchUp();
    await until(() => one.lost > 0);
    expect(one.replays).toEqual([]);
    for (const it of [one.ledger, other.ledger, first, second]) await it.close();
  });

  test("a shared ledger commits without reading the end of its log", async () => {
    const log = new MemoryLog({ delayMs: () => 0 });
    const store = openNode(log);
    const owner = await own(store, "one");
    const barriers = () => log.entries.filter((it) => it?.length === 0).length;
    for (let next = 1; next <= 5; next++) await commit(owner.ledger, changeTo(next));
    expect(barriers()).toBe(0);
    // A purge that finds nothing must have seen the letters that any node has added.
    await owner.ledger.purge("w", ["a"]);
    expect(barriers()).toBe(1);
    await owner.ledger.close();
    await store.close();
  });

  test("a shared ledger writes a commit of unknown outcome once, also when later changes follow it", async () => {
    let answered = true;
    const fate = () => (answered ? ("kept" as const) : ("unanswered" as const));
    const log = new MemoryLog({ delayMs: () => 0, fate });
    // The owner does not see the committed change before the answer is lost.
    const hidden = new Deafening(log);
    const [first, second] = [openNode(hidden), openNode(log)];
    const owner = await own(first, "one");
    const api = open(second);
    answered = false;
    hidden.isDeaf = true;
    const told = commit(owner.ledger, changeTo(1, { deadLetters: [letter("a")] }));
    await until(() => api.letters.countOf("w") === 1);
    answered = true;
    expect(await api.purge("w", ["a"])).toEqual({ purged: 1, done: 1 });
    hidden.isDeaf = false;
    await told;
    await first.catchUp();
    expect(owner.ledger.letters.countOf("w")).toBe(0);
    expect(nextOf(owner.ledger)).toBe(1);
    await Promise.all([owner.ledger.close(), api.close()]);
    await Promise.all([first.close(), second.close()]);
  });
});
