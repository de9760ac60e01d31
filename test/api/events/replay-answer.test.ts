import { expect, test } from "bun:test";
import { replayAnswer } from "../../../src/api/routes/events/replays.ts";
import { type EventJob, type LetterJob, noCounts } from "../../../src/pipeline/model/replay-job.ts";

const base = {
  ...{ id: "r", workspaceId: "w", state: "running" as const, rate: 100 },
  ...{ createdAt: 1_000, endedAt: 11_000 },
};
const events = (changes: Partial<EventJob>): EventJob => ({
  ...{ ...base, kind: "events", counts: noCounts, destinationId: "d", sources: ["s"] },
  ...{ from: 0, to: 1, starts: { p: 100 }, ends: { p: 200 } },
  logs: { p: { next: 125, pending: [] } },
  ...changes,
});
const letters = (changes: Partial<LetterJob>): LetterJob => ({
  ...{ ...base, kind: "dead-letters", counts: noCounts, filter: {}, after: "", before: "" },
  ...{ seen: 3, total: 4 },
  ...changes,
});

test("a replay of events is estimated from its place in the log", () => {
  const counts = { ...noCounts, delivered: 10, dropped: 3, failed: 2, discarded: 1, moved: 99 };
  expect(replayAnswer(events({ counts }))).toMatchObject({
    ...{ state: "running", progress: 0.25, left: 48, perSecond: 1.6 },
    counts: { ...counts, done: 16, pending: 0 },
  });
  const unread = replayAnswer(events({ logs: {}, counts: { ...noCounts, delivered: 1 } }));
  expect([unread.progress, unread.left]).toEqual([0, undefined]);
});

test("a replay of dead letters is done with those that it has moved, and waits for the others", () => {
  const counts = { ...noCounts, moved: 10, delivered: 4, dropped: 1, failed: 2, discarded: 1 };
  expect(replayAnswer(letters({ counts }))).toMatchObject({
    ...{ progress: 0.75, left: 1, perSecond: 1, counts: { ...counts, done: 10, pending: 2 } },
  });
  const purge = replayAnswer(letters({ kind: "purge", counts: { ...noCounts, moved: 3 } }));
  expect(purge.counts).toMatchObject({ done: 3, pending: 0 });
});

test("a replay that has ended has nothing left, whatever it has read", () => {
  const ended = replayAnswer(events({ state: "done" }));
  expect([ended.progress, ended.left]).toEqual([1, undefined]);
  expect(replayAnswer(events({ state: "cancelled" }))).toMatchObject({ progress: 0.25 });
});

test("a replay in its first second has the rate of that second", () => {
  const counts = { ...noCounts, delivered: 5 };
  expect(replayAnswer(events({ counts, endedAt: 1_001 })).perSecond).toBe(5);
});

test.each([
  ["failed", { failed: 2 }],
  ["done", {}],
  ["done", { failed: 2, delivered: 1 }],
  ["done", { failed: 2, dropped: 1 }],
] as const)("a replay is %s with the counts %j", (state, counts) => {
  const job = events({ state: "done", counts: { ...noCounts, ...counts } });
  expect(replayAnswer(job).state).toBe(state);
  expect(replayAnswer(job).error !== undefined).toBe(state === "failed");
  const running = replayAnswer({ ...job, state: "running" });
  expect([running.state, running.error]).toEqual(["running", undefined]);
});

test("a replay that failed by itself says why, and so does one whose destination is stopped", () => {
  const failed = replayAnswer(events({ state: "failed", error: "Gone" }), "It is down");
  expect(failed).toMatchObject({ state: "failed", error: "Gone", waitsFor: "It is down" });
});

test("the filter of a replay is text, and its failures name their groups", () => {
  const failures = [
    { groupId: "g", reason: "Late", count: 2 },
    { groupId: "", reason: "Others", count: 1 },
  ];
  const answer = replayAnswer(letters({ filter: { from: 0, reason: "Late" }, failures }));
  expect(answer.filter).toEqual({ from: "1970-01-01T00:00:00.000Z", reason: "Late" });
  expect(answer.failures).toEqual([failures[0]!, { reason: "Others", count: 1 }]);
  expect(replayAnswer(letters({ failures: [] }))).not.toHaveProperty("failures");
});
