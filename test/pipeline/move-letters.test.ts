import { expect, test } from "bun:test";
import type { JobTables } from "../../src/pipeline/ledger/job-tables.ts";
import type { LetterTables } from "../../src/pipeline/ledger/letter-tables.ts";
import { moveLetters, recordMoved } from "../../src/pipeline/ledger/move-letters.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import type { LetterJob } from "../../src/pipeline/model/replay-job.ts";

const letter = (id: string, more = {}) =>
  ({ id, destinationId: "d", reason: "x", ...more }) as StoredLetter;
const job = (more: object = {}) =>
  ({
    ...{ id: "j", workspaceId: "w", kind: "dead-letters", state: "running", filter: {} },
    ...{ after: "0", before: "9", seen: 5, counts: { moved: 2 } },
    ...more,
  }) as LetterJob;

interface Scan {
  ids: string[];
  seen: number;
  reached?: string;
  /** Number of ids that fit into one transaction, and those of letters that are gone. */
  fitting?: number;
  gone?: string[];
}

/**
 * Runs one step; returns its result, the job as it was stored, and whether its moving has ended.
 */
function step(before: LetterJob | undefined, { fitting = 99, gone = [], ...scanned }: Scan) {
  let stored: LetterJob | undefined;
  let endedAt: number | undefined;
  const asked: unknown[] = [];
  const letters = {
    scan: (...args: unknown[]) => {
      asked.push(args);
      return scanned;
    },
    take: (_: string, ids: string[]) => {
      const done = Math.min(ids.length, fitting);
      const taken = ids.slice(0, done).filter((id) => !gone.includes(id));
      return { taken: taken.map((id) => letter(id)), done };
    },
  };
  const jobs = {
    get: () => before,
    put: (next: LetterJob) => {
      stored = next;
    },
    endMoving: (_: LetterJob, at: number) => {
      endedAt = at;
    },
  };
  const result = moveLetters(letters as unknown as LetterTables, jobs as unknown as JobTables, {
    ...{ workspaceId: "w", id: "j", count: 10, now: 77 },
  });
  return { result, stored, endedAt, asked };
}

test("a step moves the letters that match, and the next one continues after what it has read", () => {
  const { result, stored, endedAt, asked } = step(job(), {
    ...{ ids: ["1", "2"], seen: 4, reached: "4", gone: ["1"] },
  });
  const requeued = [{ letter: letter("2"), replayedAt: 77, jobId: "j" }];
  expect(result).toEqual({ requeued, isOver: false });
  expect(stored).toMatchObject({ seen: 9, counts: { moved: 3 }, after: "4" });
  expect(endedAt).toBeUndefined();
  expect(asked).toMatchObject([["w", {}, { after: "0", before: "9", count: 10 }]]);
});

test("a step whose letters do not fit into one transaction continues after the last one that did", () => {
  const { result, stored, endedAt } = step(job(), { ids: ["1", "2", "3"], seen: 8, fitting: 2 });
  expect([result.isOver, stored?.after, stored?.seen, endedAt]).toEqual([
    ...[false, "2", 7, undefined],
  ]);
});

test("the step that has read all letters ends the job's moving", () => {
  const { result, stored, endedAt } = step(job({ kind: "purge" }), { ids: ["1", "2"], seen: 8 });
  expect(result).toEqual({ requeued: [], isOver: true });
  expect(stored).toMatchObject({ seen: 13, counts: { moved: 4 }, after: "0" });
  expect(endedAt).toBe(77);
});

test.each([
  ["that does not exist", undefined],
  ["that was cancelled", job({ state: "cancelled" })],
  ["that has moved all of its letters", job({ movedAt: 1 })],
  ["over logged events", job({ kind: "events" })],
])("a job %s moves nothing", (_, before) => {
  const { result, stored, asked } = step(before, { ids: ["1"], seen: 1 });
  expect(result).toEqual({ requeued: [], isOver: true });
  expect([stored, asked]).toEqual([undefined, []]);
});

test("letters that a request has moved are a replay, with what all of them have in common", () => {
  const record = (taken: StoredLetter[], of: LetterJob | undefined = job()) => {
    const all: unknown[] = [];
    const jobs = { record: (...args: unknown[]) => all.push(args) } as unknown as JobTables;
    recordMoved(jobs, of, taken, 77);
    return all;
  };
  const long = "y".repeat(301);
  expect(record([letter("1", { reason: long }), letter("2", { reason: long })])).toMatchObject([
    [{ destinationId: "d", reason: "y".repeat(300), counts: { moved: 2 } }, 77],
  ]);
  expect(record([letter("1"), letter("2", { destinationId: "e", reason: "z" })])).toEqual([
    [{ ...job(), destinationId: undefined, reason: undefined, counts: { moved: 2 } } as never, 77],
  ]);
  expect(record([])).toEqual([]);
  const jobs = {} as JobTables;
  recordMoved(jobs, undefined, [letter("1")], 77);
});
