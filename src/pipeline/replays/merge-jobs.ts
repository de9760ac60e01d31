import { addFailures } from "../ledger/job-failures.ts";
import type { CursorRecord } from "../model/lane-record.ts";
import {
  addCounts,
  commonScope,
  type EventJob,
  type JobFailure,
  type LetterJob,
  type ReplayJob,
} from "../model/replay-job.ts";

/**
 * Combines the copies of one replay job that the ledgers (stores of delivery progress) of several
 * partitions hold. Each copy counts the progress in the logs of its partition. Returns undefined
 * for an empty list.
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
    counts: parts.map(({ counts }) => counts).reduce(addCounts),
    ...(running === undefined && ends.length > 0 && { endedAt: Math.max(...ends) }),
  };
  if (rest.kind === "events") {
    return { ...rest, ...together, ...mergeProgress(parts as readonly EventJob[]) };
  }
  const letters = parts as readonly LetterJob[];
  const sum = (of: (job: LetterJob) => number) => letters.reduce((all, it) => all + of(it), 0);
  const rate = Math.round(sum((job) => job.rate));
  return {
    ...rest,
    ...together,
    ...commonScope(letters),
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
