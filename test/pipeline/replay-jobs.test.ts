import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import {
  type EventJob,
  type LetterJob,
  noCounts,
  type ReplayJob,
} from "../../src/pipeline/model/replay-job.ts";
import { expireJobs } from "../../src/pipeline/replays/expire.ts";
import { mergeJobs } from "../../src/pipeline/replays/merge-jobs.ts";
import { fractionDone } from "../../src/pipeline/replays/progress.ts";
import { createLetterJob, createReplayJobs } from "../../src/pipeline/replays/replay-jobs.ts";
import {
  REPLAY_MS_MAX,
  REPLAY_RATE_DEFAULT,
  REPLAY_RATE_MAX,
  REPLAYS_KEPT_OF_WORKSPACE_MAX,
  REPLAYS_MAX,
  REPLAYS_OF_WORKSPACE_MAX,
} from "../../src/settings/limits.ts";
import { commitLetters, decode, FakeLive, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

const logger = pino({ level: "silent" });
let directory: string;
let ledger: Ledger;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "replay-jobs-"));
  ledger = openLedger(directory, logger);
});
afterEach(async () => {
  await ledger.close();
  rmSync(directory, { recursive: true });
});

const idOf = (n: number) => `job-${String(n).padStart(5, "0")}`;

function eventJob(n: number, over: Partial<EventJob> = {}): EventJob {
  return {
    ...{ id: idOf(n), workspaceId: "w", kind: "events", state: "running" },
    ...{ destinationId: `d${n}`, sources: ["s"], from: 0, to: 1, rate: 1, createdAt: 0 },
    ...{ starts: {}, ends: {}, logs: {}, counts: noCounts, ...over },
  };
}

const start = (job: EventJob) => ledger.changeJobs((jobs) => jobs.start(job));
const end = (job: EventJob) =>
  ledger.changeJobs((jobs) => jobs.end(job.workspaceId, job.id, { state: "done", endedAt: 9 }));

describe("replay jobs", () => {
  test("running jobs are bounded in each workspace and in all", async () => {
    for (const n of numbersTo(REPLAYS_OF_WORKSPACE_MAX)) await start(eventJob(n));
    await expect(start(eventJob(90))).rejects.toThrow("to run in a workspace");
    await end(eventJob(0));
    for (const n of numbersTo(REPLAYS_MAX - REPLAYS_OF_WORKSPACE_MAX + 1)) {
      await start(eventJob(100 + n, { workspaceId: `w${n}` }));
    }
    expect(ledger.jobs.running()).toHaveLength(REPLAYS_MAX);
    await expect(start(eventJob(900, { workspaceId: "other" }))).rejects.toThrow("to run in all");
  });

  test("the newest ended jobs are kept, up to a number", async () => {
    const count = REPLAYS_KEPT_OF_WORKSPACE_MAX + 7;
    await start(eventJob(0));
    for (const n of numbersTo(count)) {
      await start(eventJob(n + 1));
      await end(eventJob(n + 1));
    }
    const ids = ledger.jobs.list("w").map(({ id }) => id);
    expect(ids).toHaveLength(REPLAYS_KEPT_OF_WORKSPACE_MAX + 1);
    expect(ids[0]).toBe(idOf(count));
    // The one that runs is older than all of them.
    expect(ids.at(-1)).toBe(idOf(0));
  });

  test("ended jobs change only by the outcomes of events in flight", async () => {
    const job = eventJob(1);
    await start(job);
    await ledger.changeJobs((jobs) => jobs.end("w", job.id, { state: "cancelled", endedAt: 5 }));
    const counts = { ...noCounts, delivered: 3 };
    const { id, workspaceId, logs } = job;
    await ledger.changeJobs((jobs) => jobs.advance({ id, workspaceId, logs, counts, doneAt: 7 }));
    expect(ledger.jobs.get("w", id)).toMatchObject({ state: "cancelled", endedAt: 5, counts });
    expect(ledger.jobs.running()).toEqual([]);
  });

  test("jobs fail when their destination is gone, or when they take too long", async () => {
    const live = new FakeLive();
    for (const id of ["d1", "d2"]) live.putDestination(id);
    await start(eventJob(1, { createdAt: 1_000 }));
    await start(eventJob(2, { createdAt: 2_000 }));
    await start(eventJob(3, { createdAt: 2_000 }));
    const woken: string[] = [];
    const now = REPLAY_MS_MAX + 1_500;
    const parts = {
      ...{ live, ledger, logger, clock: { now: () => now, age: (at: number) => now - at } },
      wake: (ids: readonly string[]) => void woken.push(...ids),
    };
    await expireJobs(parts);
    const states = [1, 2, 3].map((n) => ledger.jobs.get("w", idOf(n)));
    expect(states.map((job) => job?.error)).toEqual([
      "The replay took longer than 72 hours",
      undefined,
      "The destination was deleted",
    ]);
    expect(states[1]?.state).toBe("running");
    expect(woken).toEqual(["d1", "d3"]);
  });
});

describe("job progress", () => {
  test.each([
    [{}, {}, {}, 1],
    [{ a: 0 }, { a: 100 }, { a: { next: 50, pending: [] } }, 0.5],
    [{ a: 0 }, { a: 100 }, { a: { next: 50, pending: [25] } }, 0.25],
    [{ a: 1_000 }, { a: 1_100 }, {}, 0],
    // Numbers of partitions have gaps: what lies behind the end counts for nothing.
    [{ a: 0, b: 10 }, { a: 10, b: 20 }, { a: { next: 64, pending: [] } }, 0.5],
  ])("the progress of a job from %j to %j, at %j, is %d", (starts, ends, logs, share) => {
    expect(fractionDone(eventJob(1, { starts, ends, logs } as Partial<EventJob>))).toBe(share);
  });

  test("a job over dead letters has the rate, the bound and the person of its request, if any", () => {
    const now = 1_900_000_000_000;
    const filter = { reason: "no" };
    const plain = createLetterJob("w", { kind: "dead-letters", filter }, now);
    expect(plain).not.toContainAnyKeys(["startedBy", "destinationId"]);
    expect(plain).toMatchObject({ filter, state: "running", rate: REPLAY_RATE_DEFAULT });
    const startedBy = { id: "m", name: "M" } as never;
    const more = { filter: { destinationId: "d" }, rate: 7, startedBy };
    const own = createLetterJob("w", { kind: "dead-letters", ...more, before: now - 1_000 }, now);
    expect(own).toMatchObject({ destinationId: "d", rate: 7, startedBy });
    expect(own.before < plain.before).toBe(true);
    // A purge waits for no receiver, and nothing later than the request belongs to it.
    const purge = createLetterJob("w", { kind: "purge", ...more, before: now + 1_000 }, now);
    expect([purge.rate, purge.before]).toEqual([REPLAY_RATE_MAX, plain.before]);
  });

  test("the progress of a job over dead letters goes by their number", () => {
    const job = { kind: "purge", seen: 30, total: 120 } as LetterJob;
    expect(fractionDone(job)).toBe(0.25);
    expect(fractionDone({ ...job, total: 0 })).toBe(1);
  });
});

describe("job over several ledgers", () => {
  const delivered = (count: number) => ({ ...noCounts, delivered: count });
  test("a job over several ledgers runs while one of them runs, and sums their counts", () => {
    const one = eventJob(1, {
      ...{ state: "done", endedAt: 5, counts: delivered(2), reachedAt: 70 },
      logs: { a: { next: 9, pending: [] }, b: { next: 0, pending: [] } },
    });
    const other = eventJob(1, {
      ...{ counts: delivered(3), missingBefore: 4 },
      logs: { a: { next: 0, pending: [] }, b: { next: 7, pending: [5] } },
    });
    const job = mergeJobs([one, other]);
    expect(job).toMatchObject({
      ...{ state: "running", counts: { delivered: 5 }, reachedAt: 70, missingBefore: 4 },
      logs: { a: { next: 9 }, b: { next: 7, pending: [5] } },
    });
    expect(job?.endedAt).toBeUndefined();
    const ended = { ...other, state: "failed", endedAt: 8, error: "Why" } as const;
    expect(mergeJobs([one, ended])).toMatchObject({ state: "failed", endedAt: 8, error: "Why" });
  });

  test.each([
    [["done", "done"], "done"],
    [["done", "failed", "done"], "failed"],
    [["cancelled", "done"], "cancelled"],
    [["done", "running", "failed"], "running"],
  ] as [ReplayJob["state"][], ReplayJob["state"]][])("of states %j it has %s", (states, state) => {
    const parts = states.map((state) => eventJob(1, { state, endedAt: 8 }));
    expect(mergeJobs(parts)?.state).toBe(state);
  });

  test("a job over no ledger is none, and over one ledger is that one's", () => {
    expect(mergeJobs([])).toBeUndefined();
    expect(mergeJobs([eventJob(1)])).toEqual(eventJob(1));
  });

  test("a job that has not reached an event, and misses none, names no time", () => {
    expect(mergeJobs([eventJob(1), eventJob(1)])).not.toContainAnyKeys([
      "reachedAt",
      "missingBefore",
    ]);
  });
});

describe("a request for a replay", () => {
  const NOW = 10_000_000;
  let live: FakeLive;
  let woken: string[];
  let now: number;
  beforeEach(() => {
    live = new FakeLive();
    woken = [];
    now = NOW;
    live.addSource();
    live.putDestination("d");
    live.connect("d");
  });

  const jobsOf = (logs: MemoryLog[] = []) =>
    createReplayJobs({
      ...{ live, ledgers: () => [ledger], clock: { now: () => now } },
      readers: new Map(logs.map((log) => [log.name, log])),
      timeOf: (bytes) => decode(bytes).receivedAt,
      logEnds: async () => Object.fromEntries(logs.map((log) => [log.name, log.end()])),
      wake: (ids) => woken.push(...ids),
    });
  const asked = { destinationId: "d", from: 1 };
  const start = (over = {}) => jobsOf().start("workspace", { ...asked, ...over });

  test("is one for the sources of its destination, up to now", async () => {
    const startedBy = { kind: "member", id: "m" } as never;
    const job = await start({ to: NOW + 1, startedBy });
    expect(job).toMatchObject({
      ...{ kind: "events", state: "running", destinationId: "d", sources: ["source"] },
      ...{ from: 1, to: NOW, rate: REPLAY_RATE_DEFAULT, createdAt: NOW, startedBy },
    });
    for (const key of ["sourceId", "filter", "missingBefore"]) expect(job).not.toHaveProperty(key);
    expect(job.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(woken).toEqual(["d"]);
    expect(jobsOf().get("workspace", job.id)).toMatchObject({ sources: ["source"] });
  });

  test("may name a source that is not connected, a time, a rate and a filter", async () => {
    live.addSource("other");
    live.putDestination("alone");
    const filter = { type: "track" };
    const over = { destinationId: "alone", sourceId: "other", to: 5, rate: 7, filter };
    expect(await start(over)).toMatchObject({ ...over, sources: ["other"] });
  });

  test.each([
    ["to a disabled destination", { enabled: false }, "that is enabled, got a disabled one"],
    ["to one of rudder-server", { deliveredBy: "rudder-server" }, "that pixelmill delivers"],
  ] as const)("%s is refused", async (_, over, message) => {
    live.putDestination("d", over as never);
    await expect(start()).rejects.toThrow(message);
    expect(woken).toEqual([]);
  });

  test("without a source, and of too many sources, is refused", async () => {
    live.putDestination("alone");
    await expect(start({ destinationId: "alone" })).rejects.toThrow("connected to a source");
    for (const n of numbersTo(1_000)) live.connect("alone", {}, { id: `c${n}`, sourceId: `s${n}` });
    expect((await start({ destinationId: "alone" })).sources).toHaveLength(1_000);
    live.connect("d", {}, { id: "more" });
    for (const n of numbersTo(999)) live.connect("d", {}, { id: `e${n}`, sourceId: `s${n}` });
    await expect(start()).rejects.toThrow("has more than 1000 sources");
  });

  test("has the time before which a log has been trimmed, within the range", async () => {
    const [whole, trimmed] = [new MemoryLog("0"), new MemoryLog("1")];
    for (const log of [whole, trimmed]) {
      for (const at of [100, 200, 300]) log.append(record(1, "ann", { receivedAt: at }));
    }
    await trimmed.trim(1);
    const missing = async (from: number, to: number, ...logs: MemoryLog[]) => {
      const replays = jobsOf(logs);
      const job = await replays.start("workspace", { destinationId: "d", from, to });
      await replays.cancel("workspace", job.id);
      return job.missingBefore;
    };
    expect(await missing(50, 400, whole)).toBeUndefined();
    expect(await missing(60, 400, whole, trimmed)).toBe(200);
    expect(await missing(60, 150, whole, trimmed)).toBe(150);
    expect(await missing(200, 400, whole, trimmed)).toBeUndefined();
    await trimmed.trim(3);
    expect(await missing(201, 400, whole, trimmed)).toBe(400);
  });

  test("has the positions of its time range, and of ten minutes around it", async () => {
    const log = new MemoryLog("0");
    for (const minute of [0, 11, 22, 33, 44]) {
      log.append(record(1, "ann", { receivedAt: 60_000 * minute }));
    }
    const range = { destinationId: "d", from: 60_000 * 21, to: 60_000 * 23 };
    expect(await jobsOf([log]).start("workspace", range)).toMatchObject({
      ...{ starts: { "0": 1 }, ends: { "0": 3 }, logs: { "0": { next: 1, pending: [] } } },
    });
  });

  test("is listed with others, the newest first", async () => {
    const first = await start();
    now += 1;
    live.putDestination("e");
    const second = await start({ destinationId: "e", sourceId: "source" });
    now += 1;
    const third = await jobsOf().startLetters("workspace", { kind: "purge", filter: {} });
    const listed = jobsOf().list("workspace");
    expect(listed.map(({ id }) => id)).toEqual([third.id, second.id, first.id]);
    expect(jobsOf().list("other")).toEqual([]);
    expect(await jobsOf().cancel("workspace", first.id)).toMatchObject({ state: "cancelled" });
    expect(await jobsOf().cancel("workspace", "unknown")).toBeUndefined();
    const states = jobsOf()
      .list("workspace")
      .map(({ state }) => state);
    expect(states).toEqual(["running", "running", "cancelled"]);
  });

  test("over dead letters shares its rate and its letters among the ledgers that have them", async () => {
    const others = ["second", "third"].map((name) => openLedger(join(directory, name), logger));
    const ledgers = [ledger, ...others];
    await commitLetters(ledger, lettersOf(4));
    await commitLetters(others[0]!, lettersOf(2));
    const heard: unknown[] = [];
    const replays = createReplayJobs({
      ...{ live, ledgers: () => ledgers, clock: { now: () => now } },
      ...{ readers: new Map(), timeOf: () => 0, logEnds: async () => ({}) },
      wake: (ids) => void heard.push(ids),
    });
    const filter = { destinationId: "d" };
    const job = await replays.startLetters("workspace", { kind: "dead-letters", filter, rate: 14 });
    const copies = ledgers.map((it) => it.jobs.get("workspace", job.id) as LetterJob);
    expect(copies.map(({ rate, total }) => [rate, total])).toEqual([
      [8, 4],
      [4, 2],
      // One without letters has some rate, since a letter may come before it is searched.
      [2, 0],
    ]);
    expect(job).toMatchObject({ kind: "dead-letters", total: 6, seen: 0, destinationId: "d" });
    expect(heard).toEqual([[]]);
    const [group] = ledger.letters.groups.of({ workspaceId: "workspace", destinationId: "d" });
    const ofGroup = await replays.startLetters("workspace", {
      ...{ kind: "purge", filter: { groupId: group!.id } },
    });
    expect(ofGroup).toMatchObject({ kind: "purge", destinationId: "d", reason: "Late", total: 6 });
    const unknown = { groupId: "d.unknown" };
    const asked = { kind: "purge", filter: unknown } as const;
    const none = (await replays.startLetters("workspace", asked)) as LetterJob;
    expect(none).toMatchObject({ total: 0 });
    expect([none.destinationId, none.reason]).toEqual([undefined, undefined]);
    for (const it of others) await it.close();
  });

  test("begins in all ledgers or in none", async () => {
    const other = openLedger(join(directory, "other"), logger);
    const jobsIn = (second: Ledger) =>
      createReplayJobs({
        ...{ live, ledgers: () => [ledger, second], clock: { now: () => now } },
        ...{ readers: new Map(), timeOf: () => 0, logEnds: async () => ({}) },
        wake: (ids) => woken.push(...ids),
      });
    await other.changeJobs((jobs) => jobs.start(eventJob(1, { destinationId: "d" })));
    await expect(jobsIn(other).start("workspace", asked)).rejects.toThrow("is running already");
    expect(ledger.jobs.list("workspace")).toEqual([]);
    const broken = {
      jobs: { expectRoom() {}, get: () => undefined },
      changeJobs: () => Promise.reject(new Error("Disk full")),
    } as unknown as Ledger;
    await expect(jobsIn(broken).start("workspace", asked)).rejects.toThrow("Disk full");
    const [job] = ledger.jobs.list("workspace");
    expect(job).toMatchObject({ state: "failed", error: "Disk full", endedAt: NOW });
    expect(ledger.jobs.running()).toEqual([]);
    await other.close();
  });

  test("of another workspace's destination or source is refused", async () => {
    live.putDestination("theirs", { workspaceId: "other" });
    live.addSource("their source", "other");
    const refused = (over: object, message: string) => expect(start(over)).rejects.toThrow(message);
    await refused({ destinationId: "theirs" }, "Destination not found");
    await refused({ destinationId: "unknown" }, "Destination not found");
    await refused({ sourceId: "their source" }, "Source not found");
    await refused({ sourceId: "unknown" }, "Source not found");
    await refused({ from: NOW }, "Expected `from` to be before `to`");
    await refused({ from: 5, to: 5 }, "Expected `from` to be before `to`");
    expect(ledger.jobs.list("workspace")).toEqual([]);
    expect(woken).toEqual([]);
  });

  test("is cancelled in each ledger that still runs it", async () => {
    const other = openLedger(join(directory, "other"), logger);
    const replays = createReplayJobs({
      ...{ live, ledgers: () => [ledger, other], clock: { now: () => now } },
      ...{ readers: new Map(), timeOf: () => 0, logEnds: async () => ({}) },
      wake: (ids) => woken.push(...ids),
    });
    const { id } = await replays.start("workspace", asked);
    await ledger.changeJobs((jobs) => jobs.end("workspace", id, { state: "done", endedAt: 4 }));
    now += 3;
    expect(await replays.cancel("workspace", id)).toMatchObject({ state: "cancelled" });
    expect(ledger.jobs.get("workspace", id)).toMatchObject({ state: "done", endedAt: 4 });
    expect(other.jobs.get("workspace", id)).toMatchObject({ state: "cancelled", endedAt: NOW + 3 });
    expect(woken).toEqual(["d", "d"]);
    expect(replays.list("workspace").map((job) => job.id)).toEqual([id]);
    await other.close();
  });
});

/** Dead letters of destination `d`, of one reason. */
const lettersOf = (count: number) =>
  numbersTo(count).map((n): NewLetter => {
    const id = Bun.randomUUIDv7("hex", n * 1_000);
    return {
      ...{ id, workspaceId: "workspace", destinationId: "d", sourceId: "s", messageId: "m" },
      ...{ stage: "deliver", reason: "Late", attempts: 1, user: "u", type: "track" },
      ...{ text: "{}", receivedAt: 0, createdAt: n * 1_000 },
    };
  });

test("an old job whose dead letters are all requeued waits for their outcomes", async () => {
  const job = {
    ...createLetterJob("w", { kind: "dead-letters", filter: {} }, 1_000),
    movedAt: 2_000,
  };
  await ledger.changeJobs((jobs) => jobs.start(job));
  const now = 2_000 + 2 * REPLAY_MS_MAX;
  await expireJobs({
    ...{ live: new FakeLive(), ledger, clock: { now: () => now, age: (at: number) => now - at } },
    ...{ wake() {}, logger },
  });
  expect(ledger.jobs.get("w", job.id)).toMatchObject({ state: "running", movedAt: 2_000 });
});

test("an old job over dead letters fails without waking a lane, and an error ends no sweep", async () => {
  const job = createLetterJob("w", { kind: "purge", filter: {} }, 1_000);
  await ledger.changeJobs((jobs) => jobs.start(job));
  const woken: unknown[] = [];
  const lines: unknown[] = [];
  const sweep = (now: number, over: object = {}) =>
    expireJobs({
      ...{ live: new FakeLive(), ledger, clock: { now: () => now, age: (at: number) => now - at } },
      wake: (ids) => void woken.push(ids),
      logger: { error: (...line: unknown[]) => void lines.push(line) } as never,
      ...over,
    });
  await sweep(1_000 + REPLAY_MS_MAX);
  expect(ledger.jobs.get("w", job.id)?.state).toBe("running");
  await sweep(1_001 + REPLAY_MS_MAX);
  expect(ledger.jobs.get("w", job.id)).toMatchObject({
    ...{ state: "failed", error: "The replay took longer than 72 hours" },
    endedAt: 1_001 + REPLAY_MS_MAX,
  });
  expect(woken).toEqual([]);
  const err = new Error("Closed");
  const running = () => {
    throw err;
  };
  await sweep(0, { ledger: { jobs: { running } } });
  expect(lines).toEqual([[{ err }, "cannot expire replays"]]);
});
