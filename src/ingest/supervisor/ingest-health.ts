import type { LogHealth } from "../../log/event-log.ts";
import {
  INGEST_JUDGED_PIXELS_MIN,
  INGEST_REFUSED_SHARE_MAX,
  INGEST_REFUSED_SHARE_WARNED,
} from "../../settings/limits.ts";
import type { PixelOutcomes } from "../messages.ts";

/** State of one ingest process, as the server knows it. */
export interface ProcessState {
  /** Sentence about the process, if it does not run or does not respond. */
  trouble: string | undefined;
  /** Health of the log that the process writes. */
  log: LogHealth;
}

/** Whether this server accepts pixels, for `/ready`. */
export type IngestHealth = ReturnType<typeof judgeIngest>;

/**
 * Judges whether the server accepts pixels. It does not when a process does not run; when more than
 * `INGEST_REFUSED_SHARE_MAX` of the partitions that were written failed their last write; or when
 * more than this share of the last minute's pixels was refused, some of them in the last seconds.
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
    /** Sentence about why this server refuses most pixels; undefined while it accepts most. */
    trouble: troubles.length > 0 ? troubles.join("; ") : undefined,
    /** Sentences about pixels that are refused, and about parts of the log that are not written. */
    warnings: isRefusingMost ? [] : [...refused, ...faults],
  };
}

/** Returns the share of `part` in `part` and `rest`; 0 when both are 0. */
const shareOf = (part: number, rest: number) => (part === 0 ? 0 : part / (part + rest));
