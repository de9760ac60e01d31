import type { LogHealth } from "../../log/event-log.ts";
import {
  INGEST_JUDGED_EVENTS_MIN,
  INGEST_REFUSED_SHARE_MAX,
  INGEST_REFUSED_SHARE_WARNED,
} from "../../settings/limits.ts";
import type { IngestOutcomes } from "../messages.ts";

/** State of one ingest process, as the server knows it. */
export interface ProcessState {
  /**
   * Sentence that says why the process does not run or does not respond; undefined while it runs
   * and responds.
   */
  trouble: string | undefined;
  /**
   * Health of the log that the process writes: how many partitions accept records, and why others
   * do not.
   */
  log: LogHealth;
}

/**
 * Judges whether the server accepts events. It does not in three cases:
 * - An ingest process is not running or does not respond.
 * - More than the share `INGEST_REFUSED_SHARE_MAX` of the partitions that were written failed in
 *   their last write.
 * - More than this share of the last minute's events were refused. This requires at least
 *   `INGEST_JUDGED_EVENTS_MIN` events, and a recent refusal.
 */
export function judgeIngest(
  processes: readonly ProcessState[],
  recent: IngestOutcomes & { isRefusing: boolean },
) {
  const down = processes.flatMap(({ trouble }) => trouble ?? []);
  const faults = [...new Set(processes.flatMap(({ log }) => log.faults))];
  const sum = (of: "failing" | "writable") => processes.reduce((all, { log }) => all + log[of], 0);
  const failingShare = shareOf(sum("failing"), sum("writable"));
  const events = recent.stored + recent.refused;
  const isJudged = recent.isRefusing && events >= INGEST_JUDGED_EVENTS_MIN;
  const refusedShare = isJudged ? shareOf(recent.refused, recent.stored) : 0;
  const refused =
    refusedShare >= INGEST_REFUSED_SHARE_WARNED
      ? [`${recent.refused} of ${events} events of the last minute were refused with 503`]
      : [];
  const isRefusingMost = Math.max(failingShare, refusedShare) > INGEST_REFUSED_SHARE_MAX;
  const reasons = isRefusingMost ? [...refused, ...faults] : [];
  const troubles = [...down, ...reasons];
  return {
    /** Why the server counts as not accepting events; undefined if the server accepts events. */
    trouble: troubles.length > 0 ? troubles.join("; ") : undefined,
    /** Sentences on refused events and failed log writes; empty when `trouble` contains them. */
    warnings: isRefusingMost ? [] : [...refused, ...faults],
  };
}

/** Returns `part` as a share of the sum of `part` and `rest`; 0 when both are 0. */
const shareOf = (part: number, rest: number) => (part === 0 ? 0 : part / (part + rest));

/** Time in milliseconds over which stored and refused events are added up. */
const WINDOW_MS = 60_000;
/**
 * Milliseconds after a refused event during which `isRefusing` returns true, if the server has
 * stored no event since.
 */
const REFUSING_MS = 10_000;
/**
 * Milliseconds after a refused event during which `isRefusing` returns true, if the server has
 * stored an event since. Shorter than `REFUSING_MS`, so that `/ready` shows the recovery soon.
 */
const REFUSING_MS_STORING = 2_000;

/** Adds up how many events were stored and refused in the last minute. */
export class RecentOutcomes {
  #reports: (IngestOutcomes & { at: number })[] = [];
  #refusedAt = Number.NEGATIVE_INFINITY;
  #storedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly now: () => number = () => performance.now()) {}

  add({ stored, refused }: IngestOutcomes): void {
    if (stored + refused === 0) return;
    const at = this.now();
    this.#reports.push({ stored, refused, at });
    if (refused > 0) this.#refusedAt = at;
    if (stored > 0) this.#storedAt = at;
    this.#forget();
  }

  sum(): IngestOutcomes {
    this.#forget();
    return {
      stored: this.#reports.reduce((sum, { stored }) => sum + stored, 0),
      refused: this.#reports.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  /**
   * Whether the last refusal of an event is less than `REFUSING_MS` old. If the server has stored
   * an event since, the limit is `REFUSING_MS_STORING` instead.
   */
  isRefusing(): boolean {
    const isStoring = this.#storedAt > this.#refusedAt;
    return this.now() - this.#refusedAt < (isStoring ? REFUSING_MS_STORING : REFUSING_MS);
  }

  #forget(): void {
    const from = this.now() - WINDOW_MS;
    this.#reports = this.#reports.filter(({ at }) => at > from);
  }
}
