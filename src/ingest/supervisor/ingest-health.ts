import type { LogHealth } from "../../log/event-log.ts";
import {
  INGEST_JUDGED_PIXELS_MIN,
  INGEST_REFUSED_SHARE_MAX,
  INGEST_REFUSED_SHARE_WARNED,
} from "../../settings/limits.ts";
import type { PixelOutcomes } from "../messages.ts";

/** State of one ingest process, as the server knows it. */
export interface ProcessState {
  /** Sentence about why the process does not run or respond; undefined while it does both. */
  trouble: string | undefined;
  /** Health of the log that the process writes. */
  log: LogHealth;
}

/** Whether this server accepts pixels, and warnings, as `/ready` reports them. */
export type IngestHealth = ReturnType<typeof judgeIngest>;

/**
 * Judges whether the server accepts pixels. It does not in three cases: an ingest process does not
 * run; among the partitions that were written, more than the share `INGEST_REFUSED_SHARE_MAX`
 * failed their last write; more than this share of the last minute's pixels was refused, some of
 * them in the last seconds.
 */
export function judgeIngest(
  processes: readonly ProcessState[],
  recent: PixelOutcomes & { isRefusing: boolean },
) {
  const down = processes.flatMap(({ trouble }) => trouble ?? []);
  const faults = [...new Set(processes.flatMap(({ log }) => log.faults))];
  const sum = (of: "failing" | "writable") => processes.reduce((all, { log }) => all + log[of], 0);
  const failingShare = shareOf(sum("failing"), sum("writable"));
  const pixels = recent.stored + recent.refused;
  const isJudged = recent.isRefusing && pixels >= INGEST_JUDGED_PIXELS_MIN;
  const refusedShare = isJudged ? shareOf(recent.refused, recent.stored) : 0;
  const refused =
    refusedShare >= INGEST_REFUSED_SHARE_WARNED
      ? [`${recent.refused} of ${pixels} pixels of the last minute were refused with 503`]
      : [];
  const isRefusingMost = Math.max(failingShare, refusedShare) > INGEST_REFUSED_SHARE_MAX;
  const reasons = isRefusingMost ? [...refused, ...faults] : [];
  const troubles = [...down, ...reasons];
  return {
    /** Why the server does not accept most pixels; undefined while it accepts them. */
    trouble: troubles.length > 0 ? troubles.join("; ") : undefined,
    /** Sentences on refused pixels and unwritten log parts, while most pixels are accepted. */
    warnings: isRefusingMost ? [] : [...refused, ...faults],
  };
}

/** Returns `part` as a share of the sum of `part` and `rest`; 0 when both are 0. */
const shareOf = (part: number, rest: number) => (part === 0 ? 0 : part / (part + rest));
