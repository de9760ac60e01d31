import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addFailures, jobFailureOf } from "../../src/pipeline/ledger/job-failures.ts";
import { JobTables } from "../../src/pipeline/ledger/job-tables.ts";
import { LetterGroups } from "../../src/pipeline/ledger/letter-groups.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import {
  type EventJob,
  type JobFailure,
  type LetterJob,
  noCounts,
} from "../../src/pipeline/model/replay-job.ts";
import { REPLAYS_KEPT_OF_WORKSPACE_MAX } from "../../src/settings/limits.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { quiet } from "../log/support.ts";

const path = mkdtempSync(join(tmpdir(), "pixelmill-jobs-"));
const store = openStore({ path, name: "The store of jobs", logger: quiet });
afterAll(async () => {
  await store.close();
  rmSync(path, { recursive: true });
});

const jobs = new JobTables(store);
let workspaces = 0;

/** A workspace of its own, and jobs in it whose ids ascend. */
function workspace() {
  const workspaceId = `w${workspaces++}`;
  let made = 0;
  const base = () => ({
    id: `job${String(1_000 + made++)}`,
    ...{ workspaceId, state: "running" as const, rate: 10, createdAt: 1 },
    counts: noCounts,
  });
  const letterJob = (more: Partial<LetterJob> = {}): LetterJob => ({
    ...base(),
    ...({
      kind: "dead-letters",
      filter: {},
      after: "",
      before: "~",
      seen: 0,
      total: 0,
    } as unknown as LetterJob),
    ...more,
  });
  const eventJob = (more: Partial<EventJob> = {}) =>
    ({ ...base(), kind: "events", destinationId: "d", ...more }) as EventJob;
  return { workspaceId, letterJob, eventJob };
}

const moved = (count: number) => ({ ...noCounts, moved: count });
const outcomes = (workspaceId: string, counts = {}, failures: JobFailure[] = []) => ({
  workspaceId,
  counts: { ...noCounts, ...counts },
  failures,
});

describe("the record of dead letters that were requeued at once", () => {
  test("adds up the transactions of one request, and keeps what they have in common", async () => {
    const { workspaceId, letterJob } = workspace();
    const job = letterJob({ destinationId: "d", reason: "Late", counts: moved(2) });
    await store.change(() => jobs.record(job, 5));
    expect(jobs.get(workspaceId, job.id)).toMatchObject({
      ...{ destinationId: "d", reason: "Late", seen: 2, total: 2, movedAt: 5 },
      ...{ state: "running", counts: moved(2) },
    });
    const next = { ...job, destinationId: "e", counts: moved(3) };
    await store.change(() => jobs.record(next, 6));
    const record = jobs.get(workspaceId, job.id) as LetterJob;
    expect(record).toMatchObject({ seen: 5, total: 5, movedAt: 6, reason: "Late" });
    expect(record.counts.moved).toBe(5);
    expect(record.destinationId).toBeUndefined();
    await store.change(() => jobs.record({ ...next, reason: "Lost" }, 7));
    expect((jobs.get(workspaceId, job.id) as LetterJob).reason).toBeUndefined();
    expect(jobs.running().map(({ id }) => id)).toContain(job.id);
  });

  test("ends at once when no outcome is awaited", async () => {
    const { workspaceId, letterJob } = workspace();
    const job = letterJob({ kind: "purge", counts: moved(2) });
    await store.change(() => jobs.record(job, 5));
    expect(jobs.get(workspaceId, job.id)).toMatchObject({ state: "done", endedAt: 5 });
    expect(jobs.running().filter((it) => it.workspaceId === workspaceId)).toEqual([]);
  });

  test("ends when all letters have their outcomes", async () => {
    const { workspaceId, letterJob } = workspace();
    const job = letterJob({ counts: moved(4) });
    await store.change(() => jobs.record(job, 5));
    const failure = { groupId: "g", reason: "No", count: 1 };
    const settle = (counts: object, failures: JobFailure[], now: number) =>
      store.change(() => jobs.settleLetters(job.id, outcomes(workspaceId, counts, failures), now));
    await settle({ delivered: 1, failed: 1 }, [failure], 6);
    expect(jobs.get(workspaceId, job.id)).toMatchObject({
      ...{ state: "running", failures: [failure] },
      counts: { delivered: 1, dropped: 0, failed: 1, discarded: 0, moved: 4 },
    });
    await settle({ dropped: 1 }, [], 7);
    expect(jobs.get(workspaceId, job.id)?.state).toBe("running");
    await settle({ discarded: 1 }, [], 8);
    expect(jobs.get(workspaceId, job.id)).toMatchObject({
      ...{ state: "done", endedAt: 8 },
      counts: { delivered: 1, dropped: 1, failed: 1, discarded: 1, moved: 4 },
    });
    await store.change(() => jobs.settleLetters("unknown", outcomes(workspaceId), 9));
  });

  test("runs again without an end when more letters are moved than had outcomes", async () => {
    const { workspaceId, letterJob } = workspace();
    const job = letterJob({ counts: moved(1) });
    await store.change(() => jobs.record(job, 5));
    const settle = (now: number) =>
      store.change(() => jobs.settleLetters(job.id, outcomes(workspaceId, { delivered: 1 }), now));
    await settle(6);
    expect(jobs.get(workspaceId, job.id)).toMatchObject({ state: "done", endedAt: 6 });
    await store.change(() => jobs.record(job, 7));
    expect(jobs.get(workspaceId, job.id)).toMatchObject({ state: "running", movedAt: 7 });
    expect(jobs.get(workspaceId, job.id)?.endedAt).toBeUndefined();
    await settle(8);
    expect(jobs.get(workspaceId, job.id)).toMatchObject({ state: "done", endedAt: 8 });
  });

  test("waits for letters that are still moved", async () => {
    const { workspaceId, letterJob } = workspace();
    const job = letterJob({ counts: moved(1) });
    await store.change(() => {
      jobs.put(job);
      jobs.settleLetters(job.id, outcomes(workspaceId, { delivered: 1 }), 6);
    });
    expect(jobs.get(workspaceId, job.id)?.state).toBe("running");
  });

  test("leaves a job over events alone", async () => {
    const { workspaceId, eventJob } = workspace();
    const job = eventJob({ destinationId: `d of ${workspaceId}` });
    await store.change(() => {
      jobs.start(job);
      jobs.settleLetters(job.id, outcomes(workspaceId, { delivered: 1 }), 6);
    });
    expect(jobs.get(workspaceId, job.id)).toEqual(job);
  });

  test("makes room: the oldest records of a workspace go", async () => {
    const { workspaceId, letterJob } = workspace();
    const waiting = letterJob({ counts: moved(1) });
    await store.change(() => jobs.record(waiting, 1));
    const ended = Array.from({ length: REPLAYS_KEPT_OF_WORKSPACE_MAX }, () => letterJob());
    for (const job of ended) await store.change(() => jobs.record(job, 2));
    const kept = jobs.list(workspaceId);
    expect(kept).toHaveLength(REPLAYS_KEPT_OF_WORKSPACE_MAX);
    expect(kept.at(-1)!.id).toBe(ended[0]!.id);
    expect(jobs.running().filter((job) => job.workspaceId === workspaceId)).toEqual([]);
  });
});

test("a job that has ended stays as it ended", async () => {
  const { workspaceId, letterJob } = workspace();
  const job = letterJob();
  await store.change(() => {
    jobs.start(job);
    jobs.end(workspaceId, job.id, { state: "cancelled", endedAt: 3 });
  });
  const before = jobs.get(workspaceId, job.id)!;
  expect(before.state).toBe("cancelled");
  const end = { state: "failed", endedAt: 4, error: "No" } as const;
  const after = await store.change(() => jobs.end(workspaceId, job.id, end));
  expect(after).toEqual(before);
  expect(await store.change(() => jobs.end(workspaceId, "unknown", end))).toBeUndefined();
});

describe("the failures of a replay", () => {
  const failure = (groupId: string, count = 1) => ({ groupId, reason: `Reason ${groupId}`, count });

  test("add up by group, the most frequent first", () => {
    const known = [failure("a", 2), failure("b")];
    expect(addFailures(known, [failure("b", 3), failure("c")])).toEqual([
      failure("b", 4),
      failure("a", 2),
      failure("c"),
    ]);
    expect(known).toEqual([failure("a", 2), failure("b")]);
  });

  test("are counted together beyond twenty reasons", () => {
    const many = Array.from({ length: 23 }, (_, n) => failure(`g${n}`));
    const sums = addFailures([], many);
    expect(sums).toHaveLength(21);
    expect(sums[0]).toEqual({ groupId: "", reason: "Other reasons", count: 3 });
    const known = addFailures(sums, [failure("g0", 5), failure("g22", 2)]);
    expect(known.slice(0, 2)).toEqual([failure("g0", 6), { ...sums[0]!, count: 5 }]);
  });

  test("name the group of the dead letter, and show the beginning of its reason", () => {
    const letter = { destinationId: "d", stage: "deliver", reason: "x".repeat(301) };
    const found = jobFailureOf(letter as StoredLetter);
    expect(found).toMatchObject({ reason: "x".repeat(300), count: 1 });
    expect(found.groupId).toStartWith("d.");
    const other = jobFailureOf({ ...letter, reason: "y" } as StoredLetter);
    expect(other.groupId).not.toBe(found.groupId);
  });
});

test("the letters of several groups come in the order of their ids", async () => {
  const groups = new LetterGroups(store);
  const letter = (id: string, reason: string) =>
    ({
      ...{ id, workspaceId: "g", destinationId: "d", sourceId: "s", stage: "deliver", reason },
      ...{ createdAt: 1, attempts: 1, text: "{}", user: "u" },
    }) as unknown as StoredLetter;
  const letters = ["a1", "b2", "c3", "b4", "a5", "b6"].map((id) => letter(id, `Reason ${id[0]}`));
  await store.change(() => {
    for (const one of letters) groups.add(one);
  });
  const idOf = (at: number) => jobFailureOf(letters[at]!).groupId;
  const [a, b] = [idOf(0), idOf(1)];
  const read = (ids: string[], after = "") => [...groups.lettersOfAll("g", ids, after)];
  expect(read([a, b])).toEqual(["a1", "a5", "b2", "b4", "b6"]);
  expect(read([b, a])).toEqual(["a1", "a5", "b2", "b4", "b6"]);
  expect(read([a, b], "a5")).toEqual(["b2", "b4", "b6"]);
  expect(read([a, "unknown"])).toEqual(["a1", "a5"]);
  expect(read([])).toEqual([]);
  expect([...groups.lettersOfAll("other", [a], "")]).toEqual([]);
});
