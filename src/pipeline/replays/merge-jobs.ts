import { addFailures } from "../ledger/job-failures.ts";
import type { CursorRecord } from "../model/lane-record.ts";
import type { EventJob, JobCounts, JobFailure, LetterJob, ReplayJob } from "../model/replay-job.ts";

/**
 * Combines the copies of one replay job that the ledgers of several partitions hold. Each copy
 * counts the progress in the logs of its partition. Returns undefined for an empty list.
 */
export function mergeJobs(parts: readonly ReplayJob[]): ReplayJob | undefined {
  const [first] = parts;
  if (parts.length < 2) return first;
  const running = parts.find(({ state }) => state === "running");
  const worst = running ?? parts.find(({ state }) => state !== "done") ?? first!;
  const { endedAt: _, ...rest } = worst;
  const ends = parts.flatMap(({ endedAt }) => endedAt ?? []);
  const failures = parts.reduce<JobFailure[]>((all, it) => addFailures(all, it.failures ?? []), []);
  const together = {
    ...(failures.length > 0 && { failures }),
    counts: sumOf(parts.map(({ counts }) => counts)),
    ...(running === undefined && ends.length > 0 && { endedAt: Math.max(...ends) }),
  };
  if (rest.kind === "events") {
    return { ...rest, ...together, ...mergeProgress(parts as readonly EventJob[]) };
  }
  const letters = parts as readonly LetterJob[];
  const sum = (of: (job: LetterJob) => number) => letters.reduce((all, it) => all + of(it), 0);
  const rate = Math.round(sum((job) => job.rate));
  const common = <K extends "destinationId" | "reason">(key: K) =>
    letters.every((it) => it[key] === letters[0]?.[key]) ? letters[0]?.[key] : undefined;
  return {
    ...rest,
    ...together,
    destinationId: common("destinationId"),
    reason: common("reason"),
    rate,
    seen: sum(({ seen }) => seen),
    total: sum(({ total }) => total),
  };
}

function mergeProgress(parts: readonly EventJob[]) {
  const logs: Record<string, CursorRecord> = {};
  for (const part of parts) {
    for (const [log, cursor] of Object.entries(part.logs)) {
      if (logs[log] === undefined || cursor.next > logs[log].next) logs[log] = cursor;
    }
  }
  const reached = parts.flatMap(({ reachedAt }) => reachedAt ?? []);
  const missing = parts.flatMap(({ missingBefore }) => missingBefore ?? []);
  return {
    logs,
    ...(reached.length > 0 && { reachedAt: Math.max(...reached) }),
    ...(missing.length > 0 && { missingBefore: Math.max(...missing) }),
  };
}

function sumOf(all: readonly JobCounts[]): JobCounts {
  const sum = (name: keyof JobCounts) => all.reduce((total, counts) => total + counts[name], 0);
  return {
    delivered: sum("delivered"),
    dropped: sum("dropped"),
    failed: sum("failed"),
    discarded: sum("discarded"),
    moved: sum("moved"),
  };
}
