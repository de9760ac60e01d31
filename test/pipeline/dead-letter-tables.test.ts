import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createMetrics } from "../../src/observe/metrics.ts";
import { correctedClock } from "../../src/pipeline/clock.ts";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import { createDeadLetterRetention } from "../../src/pipeline/dead-letters/letter-retention.ts";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { firstIdAt } from "../../src/pipeline/ledger/letter-keys.ts";
import { LetterTables } from "../../src/pipeline/ledger/letter-tables.ts";
import type { LetterFilter, StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { type LetterJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { createLaneMetrics } from "../../src/pipeline/monitoring/metrics.ts";
import { commitLetters } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

const root = mkdtempSync(join(tmpdir(), "letters-"));
afterAll(() => rmSync(root, { recursive: true }));
const logger = pino({ level: "silent" });
let directories = 0;
const freshDirectory = () => join(root, String(directories++));

/** Its id is that of a letter made at second `n`. */
function letter(n: number, over: Partial<StoredLetter> = {}): StoredLetter {
  const id = Bun.randomUUIDv7("hex", n * 1_000);
  return {
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m", text: "{}" },
    ...{ stage: "deliver", reason: "", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: n * 1_000 },
    ...over,
  };
}

const lettersOf = (count: number, over: Partial<StoredLetter> = {}) =>
  numbersTo(count).map((n) => letter(n, over));

test.each(["dead-letters", "purge"] as const)(
  "a request (%s) that is cancelled between two of its transactions moves no more letters",
  async (kind) => {
    const ledger = openLedger(freshDirectory(), logger);
    const letters = lettersOf(2);
    await commitLetters(ledger, letters);
    const ids = letters.map(({ id }) => id);
    const base = {
      id: "job",
      workspaceId: "w",
      state: "running",
      rate: 1,
      createdAt: 1,
      filter: {},
    };
    const bounds = { after: "", before: "~", seen: 0, total: 0, counts: noCounts };
    const job = { ...base, ...bounds, kind } as LetterJob;
    const move = (some: string[]) =>
      kind === "purge" ? ledger.purge("w", some, job) : ledger.requeue("w", some, 1, job);
    // The state between the first transaction, whose letters have no outcome yet, and the second.
    await ledger.changeJobs((jobs) => {
      jobs.start(job);
      jobs.end("w", "job", { state: "cancelled", endedAt: 2 });
    });
    expect(await move(ids)).toMatchObject({ done: 2 });
    expect(ledger.jobs.get("w", "job")?.state).toBe("cancelled");
    expect(ledger.letters.countOf("w")).toBe(2);
    await ledger.close();
  },
);

test("dead letters are counted with each change, and not when a ledger opens", async () => {
  const directory = freshDirectory();
  let ledger = openLedger(directory, logger);
  const letters = [...lettersOf(3), ...lettersOf(2, { destinationId: "e" })];
  await commitLetters(ledger, letters);
  // A commit that failed may have reached the disk nevertheless, and is made again.
  await commitLetters(ledger, letters);
  await commitLetters(ledger, lettersOf(4, { workspaceId: "v", destinationId: "f" }));
  await ledger.purge("w", [letters[0]!.id, "unknown"]);
  await ledger.requeue("w", [letters[4]!.id, letters[1]!.id, letters[1]!.id], 0);
  expect([...ledger.letters.counts("v")]).toEqual([
    { workspaceId: "v", destinationId: "f", count: 4 },
  ]);
  const look = () => ({
    counts: [...ledger.letters.counts()].filter(({ count }) => count > 0),
    d: ledger.letters.countOf("w", { destinationId: "d" }),
    w: ledger.letters.countOf("w"),
    unknown: ledger.letters.countOf("x", { destinationId: "y" }),
    other: ledger.letters.countOf("w", { destinationId: "f" }),
  });
  const expected = {
    ...{
      counts: [
        { workspaceId: "v", destinationId: "f", count: 4 },
        { workspaceId: "w", destinationId: "d", count: 1 },
        { workspaceId: "w", destinationId: "e", count: 1 },
      ],
      d: 1,
      w: 2,
    },
    ...{ unknown: 0, other: 0 },
  } as ReturnType<typeof look>;
  expect(look()).toEqual(expected);
  await ledger.close();
  ledger = openLedger(directory, logger);
  expect(look()).toEqual(expected);
  await ledger.close();
});

test("requeued letters in flight are skipped, and an older one that arrives later is found", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const letters = lettersOf(40);
  await commitLetters(ledger, letters);
  const ids = letters.map(({ id }) => id);
  await ledger.requeue("w", ids.slice(10), 0);
  const busy = new Set<string>();
  const take = (count: number) => {
    const taken = ledger.requeued.oldest("d", busy, count).map(({ letter }) => letter.id);
    for (const id of taken) busy.add(id);
    return taken;
  };
  expect(take(5)).toEqual(ids.slice(10, 15));
  expect(take(5)).toEqual(ids.slice(15, 20));
  expect(take(5)).toEqual(ids.slice(20, 25));
  await ledger.requeue("w", ids.slice(2, 4), 0);
  expect(take(4)).toEqual([...ids.slice(2, 4), ...ids.slice(25, 27)]);
  expect(take(100)).toEqual(ids.slice(27));
  expect(take(100)).toEqual([]);
  // Another lane, after a restart of the old one, starts over.
  expect(ledger.requeued.oldest("d", new Set(), 1)[0]!.letter.id).toBe(ids[2]!);
  await ledger.close();
});

test("many dead letters are replayed, purged and removed completely in several transactions", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const letters = lettersOf(3_500);
  for (let i = 0; i < letters.length; i += 500)
    await commitLetters(ledger, letters.slice(i, i + 500));
  const woken: number[] = [];
  const dead = new DeadLetters(
    () => [ledger],
    (ids) => woken.push(ids.length),
    () => 0,
  );
  const ids = letters.map(({ id }) => id);
  const scan = { after: "", before: "~", count: 10 };
  const first = ledger.letters.scan("w", { reason: "another" }, scan);
  expect(first).toEqual({ ids: [], seen: 1_000, reached: ids[999]! });
  expect(await dead.replay("w", ids.slice(0, 1_500))).toEqual({ replayed: 1_500 });
  expect(woken).toEqual([1_000, 500]);
  expect(await dead.purge("w", [...ids.slice(0, 1_600), ...ids.slice(1_500, 1_700)])).toEqual({
    purged: 200,
  });
  expect(dead.count("w", { destinationId: "d" })).toBe(1_800);
  expect(await ledger.remove("d", true)).toBe(1_800);
  expect(ledger.destinations().size).toBe(0);
  expect([...ledger.letters.counts()]).toEqual([]);
  await ledger.close();
});

test("the removal of a destination reads no counts of others, and leaves none", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const letters = ["d", "e", "f"].map((destinationId, n) => letter(n, { destinationId }));
  await commitLetters(ledger, letters);
  await ledger.purge("w", [letters[1]!.id]);
  const counts = spyOn(LetterTables.prototype, "counts");
  expect([await ledger.remove("d", true), await ledger.remove("e", true)]).toEqual([1, 0]);
  expect(counts).not.toHaveBeenCalled();
  counts.mockRestore();
  expect([...ledger.letters.counts()]).toEqual([
    { workspaceId: "w", destinationId: "f", count: 1 },
  ]);
  await ledger.close();
});

describe("dead letters that a clock which was ahead has dated", () => {
  const [called, now] = [10_000, 11_000];
  /** The fourth came after the call, as one does that fails again; the last is of the future. */
  const seconds = [1, 2, 3, 10.5, 4_000];
  async function open() {
    const ledger = openLedger(freshDirectory(), logger);
    const letters = seconds.map((n) => letter(n));
    await commitLetters(ledger, letters);
    const ids = letters.map(({ id }) => id);
    return { ledger, ids, meant: [...ids.slice(0, 3), ids[4]!] };
  }

  test("are moved by a job that began afterwards", async () => {
    const { ledger, ids, meant } = await open();
    const job: LetterJob = {
      ...{ id: "job", workspaceId: "w", kind: "dead-letters", state: "running", filter: {} },
      ...{ rate: 1, createdAt: called, counts: noCounts, after: "", seen: 0, total: 4 },
      before: firstIdAt(called),
    };
    await ledger.changeJobs((jobs) => jobs.start(job));
    while (!(await ledger.moveLetters("w", "job", 2, now)).isOver);
    const requeued = ledger.requeued.oldest("d", new Set(), 10).map(({ letter }) => letter.id);
    expect(requeued).toEqual(meant);
    expect(ledger.letters.scan("w", {}, { after: "", before: "~", count: 10 }).ids).toEqual([
      ids[3]!,
    ]);
    await ledger.close();
  });

  test("are found until now, but not before a time that a filter names", async () => {
    const { ledger, ids, meant } = await open();
    const dead = new DeadLetters(
      () => [ledger],
      () => {},
      () => now,
    );
    const part = { after: "", before: firstIdAt(called), count: 10 };
    expect(dead.ids("w", {}, part).ids).toEqual(meant);
    expect(dead.ids("w", { from: 2_000 }, part).ids).toEqual(meant.slice(1));
    expect(dead.ids("w", { to: called }, part).ids).toEqual(ids.slice(0, 3));
    expect(dead.ids("w", {}, { ...part, after: meant.at(-1)! }).ids).toEqual([]);
    await ledger.close();
  });
});

/** One transaction takes fewer letters of this size than one step of a job may move. */
const large = { text: "x".repeat(45_000) };

describe("large dead letters, which take several transactions", () => {
  const COUNT = 300;
  async function open() {
    const ledger = openLedger(freshDirectory(), logger);
    const letters = lettersOf(COUNT, large);
    await commitLetters(ledger, letters);
    const ids = letters.map(({ id }) => id);
    const requeued = () =>
      ledger.requeued.oldest("d", new Set(), 2 * COUNT).map(({ letter }) => letter.id);
    return { ledger, ids, requeued };
  }
  const access = (ledger: Ledger) =>
    new DeadLetters(
      () => [ledger],
      () => {},
      () => 0,
    );

  test.each(["dead-letters", "purge"] as const)(
    "a job of kind %s moves all of them, and a purge ends then",
    async (kind) => {
      const { ledger, ids, requeued } = await open();
      const job: LetterJob = {
        ...{ id: "job", workspaceId: "w", kind, state: "running", filter: {}, rate: 1 },
        ...{ createdAt: 0, counts: noCounts, after: "", before: "~", seen: 0, total: COUNT },
      };
      await ledger.changeJobs((jobs) => jobs.start(job));
      let steps = 0;
      let isOver = false;
      while (!isOver) {
        const moved = await ledger.moveLetters("w", "job", COUNT, 0);
        isOver = moved.isOver;
        steps += 1;
        const ends = isOver && kind === "purge";
        expect(ledger.jobs.get("w", "job")?.state).toBe(ends ? "done" : "running");
      }
      expect(steps).toBeGreaterThan(1);
      expect(ledger.letters.countOf("w")).toBe(0);
      expect(ledger.jobs.get("w", "job")).toMatchObject({ seen: COUNT, counts: { moved: COUNT } });
      expect(requeued()).toEqual(kind === "purge" ? [] : ids);
      await ledger.close();
    },
  );

  test("all named ones are replayed", async () => {
    const { ledger, ids, requeued } = await open();
    expect(await access(ledger).replay("w", ids)).toEqual({ replayed: COUNT });
    expect(requeued()).toEqual(ids);
    await ledger.close();
  });

  test("all named ones are purged", async () => {
    const { ledger, ids } = await open();
    expect(await access(ledger).purge("w", ids)).toEqual({ purged: COUNT });
    expect(ledger.letters.countOf("w")).toBe(0);
    await ledger.close();
  });

  test("all are listed, page after page", async () => {
    const { ledger, ids } = await open();
    const found: string[] = [];
    let after: string | undefined = "";
    let pages = 0;
    while (after !== undefined) {
      const page = access(ledger).find("w", { after, count: COUNT });
      found.push(...page.letters.map(({ id }) => id));
      after = page.reached;
      pages++;
    }
    expect(pages).toBeGreaterThan(1);
    expect(found).toEqual(ids);
    await ledger.close();
  });
});

test("the oldest dead letters beyond the operator's bounds are dropped, counted and logged", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  await commitLetters(ledger, [...lettersOf(1_500), ...lettersOf(30, { destinationId: "e" })]);
  const lines: string[] = [];
  const registry = createMetrics();
  const metrics = createLaneMetrics(registry, {
    lanes: () => [],
    deadLetters: () => [],
    heldBytes: () => 0,
    heldLogs: () => [],
  });
  const sweep = (countMax: number, ageMsMax: number) =>
    createDeadLetterRetention({
      bounds: { countMax, ageMsMax },
      ...{ ledger, metrics, ledgers: () => [ledger] },
      clock: { age: (at) => 1_500_000 - at },
      logger: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
    }).run();
  await sweep(0, 0);
  expect(ledger.letters.countOf("w")).toBe(1_530);
  await sweep(40, 0);
  expect(ledger.letters.countOf("w", { destinationId: "d" })).toBe(40);
  expect(ledger.letters.countOf("w", { destinationId: "e" })).toBe(30);
  const oldest = ledger.letters.get(
    "w",
    ledger.letters.scan("w", { destinationId: "d" }, { after: "", before: "~", count: 1 }).ids[0]!,
  )!;
  expect(oldest.createdAt).toBe(1_460_000);
  await sweep(0, 20_000);
  expect(ledger.letters.countOf("w", { destinationId: "d" })).toBe(20);
  expect(ledger.letters.countOf("w", { destinationId: "e" })).toBe(0);
  expect(
    lines.map((line) => JSON.parse(line)).map(({ dropped, bound }) => [dropped, bound]),
  ).toEqual([
    [1_460, "count"],
    [20, "age"],
    [30, "age"],
  ]);
  expect(await registry.metrics()).toContain(
    'pixelmill_dead_letters_dropped_total{workspace="w",bound="age"',
  );
  await ledger.close();
});

test("the operator's bound for a destination holds over all ledgers together", async () => {
  const ledgers = [openLedger(freshDirectory(), logger), openLedger(freshDirectory(), logger)];
  await commitLetters(ledgers[0]!, lettersOf(300));
  await commitLetters(ledgers[1]!, lettersOf(100));
  const metrics = { deadLettersDropped: { inc() {} } } as never;
  const sweeps = ledgers.map((ledger) =>
    createDeadLetterRetention({
      bounds: { countMax: 40, ageMsMax: 0 },
      ...{
        ledger,
        metrics,
        logger,
        ledgers: () => ledgers,
        clock: { age: (at) => 1_500_000 - at },
      },
    }),
  );
  for (let n = 0; n < 20; n++) for (const sweep of sweeps) await sweep.run();
  const counts = ledgers.map((ledger) => ledger.letters.countOf("w"));
  expect(counts[0]! + counts[1]!).toBeGreaterThanOrEqual(40);
  expect(counts[0]! + counts[1]!).toBeLessThan(40 + ledgers.length);
  for (const ledger of ledgers) await ledger.close();
});

test("no dead letters are dropped for their age while the clock is ahead", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  await commitLetters(ledger, [letter(Date.now() / 1_000)]);
  let errorMs = 0;
  const clock = correctedClock(() => errorMs);
  const dropped = { inc: () => {} };
  const sweep = createDeadLetterRetention({
    bounds: { countMax: 0, ageMsMax: 60_000 },
    ...{ ledger, ledgers: () => [ledger], clock, logger },
    metrics: { deadLettersDropped: dropped } as any,
  });
  errorMs = -3_600_000;
  await sweep.run();
  expect(ledger.letters.countOf("w")).toBe(1);
  await ledger.close();
});

test("dead letters are grouped by reason, whatever numbers and ids the reason contains", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const reasons = [
    "HTTP 422 from receiver",
    "HTTP 500 from receiver",
    "No order 4711881 (0f8fad5b-d9cb-469f-a165-70867728950e)",
    "No order 4711882 (7c9e6679-7425-40de-944b-e07fc1f90ae7)",
    "HTTP 422 from receiver",
  ];
  const letters = reasons.map((reason, n) => letter(n + 1, { reason }));
  await commitLetters(ledger, letters);
  await commitLetters(ledger, letters);
  const shown = () =>
    new DeadLetters(
      () => [ledger],
      () => {},
      () => 0,
    )
      .groups("w")
      .map(({ reason, count, lastAt }) => [reason, count, lastAt]);
  expect(shown()).toEqual([
    ["HTTP 422 from receiver", 2, 5_000],
    [reasons[2]!, 2, 4_000],
    ["HTTP 500 from receiver", 1, 2_000],
  ]);
  await ledger.purge("w", [letters[1]!.id]);
  await ledger.requeue("w", [letters[0]!.id], 0);
  await ledger.dropOldest({ workspaceId: "w", destinationId: "d" }, { count: 1 });
  expect(shown()).toEqual([
    ["HTTP 422 from receiver", 1, 5_000],
    [reasons[2]!, 1, 4_000],
  ]);
  const owner = { workspaceId: "w", destinationId: "d" };
  const groupIds = [...ledger.letters.groups.of(owner)].map(({ id }) => id);
  expect(ledger.letters.countOf("w", { groupIds: [...groupIds, "unknown"] })).toBe(2);
  await ledger.close();
});

test("a filter of dead letters by groups finds only those of its destination and its group", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const of = (destinationId: string, reason: string, n: number) =>
    letter(n, { destinationId, reason });
  const letters = [of("d", "one", 1), of("d", "two", 2), of("e", "one", 3)];
  await commitLetters(ledger, letters);
  const ids = letters.map(({ id }) => id);
  const owner = (destinationId: string) => ({ workspaceId: "w", destinationId });
  const groups = ["d", "e"].flatMap((id) => [...ledger.letters.groups.of(owner(id))]);
  const idOf = (destinationId: string, reason: string) =>
    groups.find((it) => it.destinationId === destinationId && it.reason === reason)!.id;
  const [one, two, other] = [idOf("d", "one"), idOf("d", "two"), idOf("e", "one")];
  const found: [LetterFilter, string[]][] = [
    [{ groupId: one }, [ids[0]!]],
    [{ groupIds: [other, one, one] }, [ids[0]!, ids[2]!]],
    [{ destinationId: "d", groupId: other }, []],
    [{ destinationId: "d", groupIds: [one, two, other] }, [ids[0]!, ids[1]!]],
    [{ groupId: two, groupIds: [one, two] }, [ids[1]!]],
    [{ groupId: two, groupIds: [one] }, []],
  ];
  for (const [filter, expected] of found) {
    const scan = { after: "", before: "~", count: 10 };
    expect(ledger.letters.scan("w", filter, scan).ids).toEqual(expected);
    expect(ledger.letters.countOf("w", filter)).toBe(expected.length);
  }
  await ledger.close();
});

test("code that gives each event a reason of its own makes a bounded number of groups", async () => {
  const ledger = openLedger(freshDirectory(), logger);
  const made = numbersTo(300).map((n) =>
    letter(n, { reason: `No ${String.fromCharCode(97 + (n % 26), 97 + n / 26)}` }),
  );
  await commitLetters(ledger, made);
  const groups = [...ledger.letters.groups.of({ workspaceId: "w", destinationId: "d" })];
  expect(groups.length).toBe(201);
  expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(300);
  const other = groups.find(({ reason }) => reason === "Other reasons")!;
  expect(other.count).toBe(100);
  expect([...ledger.letters.groups.lettersOf("w", other.id, "")]).toEqual(
    made.slice(200).map(({ id }) => id),
  );
  await ledger.purge(
    "w",
    made.map(({ id }) => id),
  );
  expect([...ledger.letters.groups.of({ workspaceId: "w", destinationId: "d" })]).toEqual([]);
  await ledger.close();
});
