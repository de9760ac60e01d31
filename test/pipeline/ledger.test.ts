import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import type { LaneChange } from "../../src/pipeline/ledger/ledger.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX } from "../../src/pipeline/ledger/letter-tables.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { type LetterJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { commitChange, commitLetters, fail } from "./doubles.ts";
import { numbersTo, until } from "./rig.ts";

const directory = mkdtempSync(join(tmpdir(), "ledger-"));
const ledger = openLedger(directory, pino({ level: "silent" }));
afterAll(async () => {
  await ledger.close();
  rmSync(directory, { recursive: true });
});

const ids = numbersTo(9).map((n) => `letter-${n}`);

/** Nine letters, four of which fill a page. */
function largeLetters(): StoredLetter[] {
  const text = JSON.stringify("x".repeat(DEAD_LETTERS_PAGE_CHARS_MAX / 4));
  return ids.map((id) => ({
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: id, text },
    ...{ stage: "deliver", reason: "", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 0 },
  }));
}

test("large dead letters come in shorter pages, and their replays in smaller batches", async () => {
  const deadLetters = new DeadLetters(
    () => [ledger],
    () => {},
    () => 0,
  );
  const letters = largeLetters();
  const change = {
    destinationId: "d",
    record: { logs: {}, known: {} },
    deadLetters: letters,
    settledRequeued: [],
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  ledger.schedule({ collect: () => change, committed: () => resolve(), fail });
  await promise;

  for (const filter of [{}, { destinationId: "d" }]) {
    const pages: string[][] = [];
    for (let after = ""; pages.at(-1)?.length !== 0; after = pages.at(-1)!.at(-1) ?? "") {
      const page = deadLetters.find("w", { ...filter, after, count: 100 }).letters;
      pages.push(page.map(({ id }) => id));
    }
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 1, 0]);
    expect(pages.flat()).toEqual(ids);
  }
  expect(deadLetters.find("w", { count: 2 }).letters.length).toBe(2);

  expect(await deadLetters.replay("w", ids)).toEqual({ replayed: 9 });
  const lot = ledger.requeued.oldest("d", new Set(), 100, {
    charsMax: DEAD_LETTERS_PAGE_CHARS_MAX / 2,
  });
  expect(lot.map(({ letter }) => letter.id)).toEqual(ids.slice(0, 2));
  expect(ledger.requeued.oldest("d", new Set(ids.slice(0, 2)), 100).length).toBe(7);
});

test("a ledger that could not write dead letters writes no later cursor when it closes", async () => {
  const path = join(directory, "refusing");
  const logger = pino({ level: "silent" });
  const refusing = openLedger(path, logger);
  let refused = 0;
  const common = { destinationId: "d", settledRequeued: [] };
  const first: LaneChange = {
    ...{ ...common, record: { logs: { "0": { next: 5, pending: [] } }, known: {} } },
    get deadLetters(): never {
      refused += 1;
      throw new Error("No space left on device");
    },
  };
  const later = { ...common, record: { logs: { "0": { next: 9, pending: [] } }, known: {} } };
  refusing.schedule({ collect: () => first, committed: () => {}, fail });
  await until(() => refused > 0);
  refusing.schedule({ collect: () => ({ ...later, deadLetters: [] }), committed: () => {}, fail });
  await refusing.close();

  const again = openLedger(path, logger);
  expect(again.lane("d")).toBeUndefined();
  await again.close();
});

test("a lane that cannot read the ledger after an LMDB failure is collected again", async () => {
  const change = {
    destinationId: "x",
    record: { logs: {}, known: {} },
    deadLetters: [],
    settledRequeued: [],
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const collect = () => {
    asked += 1;
    if (asked === 1) throw Object.assign(new Error("MDB_PANIC"), { code: -30_795 });
    return change;
  };
  ledger.schedule({ collect, committed: () => resolve(), fail });
  await promise;
  expect(asked).toBe(2);
});

/** A ledger of its own, with a letter of destination `a` and two of `b`. */
async function smallLedger() {
  const own = openLedger(join(directory, `own-${owned++}`), pino({ level: "silent" }));
  const letter = (id: string, destinationId: string): StoredLetter => ({
    ...{ id, workspaceId: "w", destinationId, sourceId: "s", messageId: id, text: "{}" },
    ...{ stage: "deliver", reason: "No", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 0 },
  });
  await commitLetters(own, [letter("1", "a"), letter("2", "b"), letter("3", "b")]);
  const none = { deadLetters: [], settledRequeued: [] };
  const record = { logs: { "0": { next: 5, pending: [] } }, known: {} };
  await commitChange(own, { ...none, destinationId: "c", record });
  return own;
}
let owned = 0;
const jobOf = (id: string, over: Partial<LetterJob> = {}) =>
  ({
    ...{ id, workspaceId: "w", state: "running", rate: 1, createdAt: 1, counts: noCounts },
    ...{ kind: "dead-letters", filter: {}, after: "", before: "~", seen: 0, total: 0 },
    ...over,
  }) as LetterJob;

test("a ledger names the destinations with progress, dead letters or requeued letters", async () => {
  const own = await smallLedger();
  expect([...own.destinations()].sort()).toEqual(["a", "b", "c"]);
  expect(own.lanes()).toContainEqual({ logs: { "0": { next: 5, pending: [] } }, known: {} });
  expect(own.lane("c")?.logs["0"]?.next).toBe(5);
  expect(await own.remove("c", true)).toBe(0);
  expect(await own.requeue("w", ["1"], 7)).toEqual({ destinationIds: ["a"], done: 1 });
  for (const id of ["a", "b"]) expect(await own.remove(id, false)).toBe(0);
  expect(own.lanes()).toEqual([]);
  // The letters are left: a requeued one of the first, and dead ones of the second.
  expect([...own.destinations()].sort()).toEqual(["a", "b"]);
  expect([...own.requeued.destinations()]).toEqual(["a"]);
  expect(own.requeued.oldest("a", new Set(), 9)).toMatchObject([
    { letter: { id: "1" }, replayedAt: 7 },
  ]);
  expect([own.isShared, own.isFailing, own.owner(), own.failure()]).toEqual([
    ...[false, false, undefined, undefined],
  ]);
  await own.close();
});

test("a removal with letters deletes the destination's dead and requeued letters, and ends their job", async () => {
  const own = await smallLedger();
  await own.requeue("w", ["2"], 7, jobOf("job"));
  expect([own.requeued.hasAtLeast("b", 1), own.requeued.hasAtLeast("b", 2)]).toEqual([true, false]);
  expect(own.jobs.get("w", "job")).toMatchObject({ state: "running", counts: { moved: 1 } });
  expect(await own.remove("b", true)).toBe(1);
  expect([own.lane("b"), own.requeued.hasAtLeast("b", 1), own.letters.countOf("w")]).toEqual([
    ...[undefined, false, 1],
  ]);
  expect(own.jobs.get("w", "job")).toMatchObject({ state: "done", counts: { discarded: 1 } });
  expect([...own.destinations()].sort()).toEqual(["a", "c"]);
  expect(await own.remove("unknown", true)).toBe(0);
  await own.close();
});

test("letters are purged once, those that are gone or of another workspace are not", async () => {
  const own = await smallLedger();
  expect(await own.purge("v", ["1"])).toEqual({ purged: 0, done: 1 });
  const job = jobOf("job", { kind: "purge", createdAt: 33 });
  expect(await own.purge("w", ["1", "gone", "2"], job)).toEqual({ purged: 2, done: 3 });
  expect(own.letters.countOf("w")).toBe(1);
  expect(own.jobs.get("w", "job")).toMatchObject({
    ...{ state: "done", endedAt: 33, counts: { moved: 2 } },
  });
  expect(await own.purge("w", ["1"], jobOf("other", { kind: "purge" }))).toMatchObject({
    purged: 0,
  });
  expect(own.jobs.get("w", "other")).toBeUndefined();
  await own.close();
});

test("a commit with an outcome of a requeued letter removes it, and with a dead letter of another lane is refused", async () => {
  const own = await smallLedger();
  await own.requeue("w", ["2", "3"], 7, jobOf("job"));
  const record = { logs: {}, known: {} };
  const settled = { workspaceId: "w", jobId: "job", outcome: "delivered" } as const;
  const change = { destinationId: "b", record, deadLetters: [] };
  await commitChange(own, { ...change, settledRequeued: [{ ...settled, id: "2" }] });
  expect(own.requeued.oldest("b", new Set(), 9).map(({ letter }) => letter.id)).toEqual(["3"]);
  expect(own.jobs.get("w", "job")).toMatchObject({ counts: { delivered: 1, moved: 2 } });
  const foreign = own.letters.get("w", "1")!;
  const wrong = { ...change, settledRequeued: [], deadLetters: [{ ...foreign, id: "9" }] };
  await expect(commitChange(own, wrong)).rejects.toThrow("with the cursor of its own lane");
  expect(own.letters.get("w", "9")).toBeUndefined();
  await own.close();
});
