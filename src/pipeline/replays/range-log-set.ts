import type { Connection, Destination } from "../../catalog/model.ts";
import { contentMatcher } from "../../event/content-filter.ts";
import type { Positions } from "../../log/positions.ts";
import type { Clock, Notifier } from "../clock.ts";
import type { LogInput } from "../model/input-event.ts";
import type { EventFilter, EventJob } from "../model/replay-job.ts";
import type { LogChunk, LogSet } from "../reading/shared-reader.ts";
import type { Occurrence } from "../repetitions/recent-ids.ts";

interface RangeLogSetParts {
  job: EventJob;
  logs: LogSet;
  clock: Clock;
  /** Notifies when the replay stops, which ends the current pause between reads. */
  stopping: Notifier;
}

/**
 * Returns the event logs as one replay sees them: only the events in the job's range that match its
 * filter. Pauses after reads, so that a replay with few matching events spends only about half of
 * its time reading.
 *
 * `recovered`: log → end (exclusive) of the job's events in an interrupted delivery, if there was
 * one. Reading stops at these ends until `endRecovery` is called.
 */
export function createRangeLogSet(
  { job, logs, clock, stopping }: RangeLogSetParts,
  recovered: Positions | undefined,
) {
  const { from, to, filter } = job;
  const sources = new Set(job.sources);
  const messageIds = filter?.messageIds && new Set(filter.messageIds.flatMap(casesOf));
  const hasContent = filter && contentMatcher(filter);
  let bounds = recovered;
  let missingBefore = job.missingBefore;
  let pauseMs = 0;

  const bound = (log: string) => (bounds ?? job.ends)[log] ?? 0;
  const end = (log: string) => Math.min(bound(log), logs.end(log));

  function names(): string[] {
    const known = logs.names();
    return Object.keys(job.ends).filter((log) => known.includes(log));
  }

  /**
   * Updates `missingBefore` after a read from the beginning of a log. If the oldest record of a
   * trimmed log is later than the start of the range, the log may have lost earlier records of the
   * range.
   */
  function noteMissing(log: string, { inputs }: LogChunk): void {
    const oldest = inputs[0]?.receivedAt;
    if (oldest === undefined || logs.first(log) === 0 || oldest <= from) return;
    missingBefore = Math.max(missingBefore ?? 0, Math.min(oldest, to));
  }

  function isWanted(log: string, input: LogInput): boolean {
    if (!sources.has(input.sourceId)) return false;
    if (input.receivedAt < from || input.receivedAt >= to) return false;
    if (filter === undefined) return true;
    if ((filter.type ?? input.type) !== input.type) return false;
    if (!needsBuiltEvent(filter) && hasContent === undefined) return true;
    // Matching needs the event from here on, and building it may show that it cannot be built.
    if (logs.sizeOf(log, input) === undefined) return false;
    if (messageIds?.has(input.messageId) === false) return false;
    const { name, userId, anonymousId } = input.event;
    return (
      (filter.event ?? name) === name &&
      (filter.userId ?? userId) === userId &&
      (filter.anonymousId ?? anonymousId) === anonymousId &&
      (hasContent?.(input.event.json) ?? true)
    );
  }

  return {
    ...logs,
    names,
    end,
    /**
     * Does nothing. The end of a replay's range is fixed when its job is created, so new records do
     * not concern the replay.
     */
    setAnnouncedEnd() {},
    heldSince: () => undefined,
    announcedEnd: () => 0,
    /**
     * Returns the previous occurrence of a record's messageId, but only if this occurrence is in
     * the range of the replay too. Otherwise, the replay would skip the record without having sent
     * the earlier one.
     */
    previousOf(log: string, sequence: number): Occurrence | undefined {
      const previous = logs.previousOf(log, sequence);
      if (previous === undefined) return undefined;
      const { receivedAt } = previous;
      const isInRange =
        receivedAt >= from &&
        receivedAt < to &&
        previous.sequence >= logs.first(previous.log) &&
        previous.sequence < (job.ends[previous.log] ?? 0);
      return isInRange ? previous : undefined;
    },
    async read(log: string, sequence: number): Promise<LogChunk | undefined> {
      const last = end(log);
      if (sequence >= last) return undefined;
      if (pauseMs > 0) await clock.sleep(pauseMs, stopping);
      const started = clock.elapsed();
      const isOldest = sequence <= logs.first(log);
      const chunk = await logs.read(log, sequence);
      if (chunk === undefined) return undefined;
      if (isOldest) noteMissing(log, chunk);
      const inputs = chunk.inputs.filter((it) => it.sequence < last && isWanted(log, it));
      const otherFraction = 1 - inputs.length / Math.max(1, chunk.inputs.length);
      pauseMs = (clock.elapsed() - started) * otherFraction;
      const found = new Set(inputs.map(({ sourceId }) => sourceId));
      const newerAt = chunk.next < last ? chunk.newerAt : undefined;
      return { ...chunk, inputs, sources: found, next: Math.min(chunk.next, last), newerAt };
    },
    /**
     * Ends the recovery of the interrupted delivery. `read` then stops at the end of the replay's
     * range, not at the end of this delivery.
     */
    endRecovery() {
      bounds = undefined;
    },
    /**
     * Whether this node's logs reach to the end of the range, so that the whole range can be read.
     * This may be false shortly after a start, before the logs know their ends.
     */
    get isWhole(): boolean {
      return names().every((log) => logs.end(log) >= bound(log));
    },
    /**
     * Time before which records of the range may be missing, because they were deleted; see
     * `EventJob`. Undefined when no record is missing.
     */
    get missingBefore() {
      return missingBefore;
    },
  };
}

function needsBuiltEvent({ event, userId, anonymousId, messageIds }: EventFilter): boolean {
  return (event ?? userId ?? anonymousId ?? messageIds) !== undefined;
}

/**
 * Returns two forms of a messageId: as given, and in lower case, the form in which pixelmill stores
 * the messageIds that it makes.
 */
const casesOf = (messageId: string): string[] => [messageId, messageId.toLowerCase()];

/**
 * Returns routes (a destination and its connections by source) that send all events of the job's
 * sources to its destination, as if the sources had been connected at all times.
 */
export function replayRoutes(job: EventJob, destination: Destination) {
  const connection = (sourceId: string): Connection => ({
    id: job.id,
    workspaceId: job.workspaceId,
    sourceId,
    destinationId: job.destinationId,
    enabled: true,
    from: {},
    createdAt: 0,
    updatedAt: 0,
  });
  return { destination, bySource: new Map(job.sources.map((id) => [id, connection(id)])) };
}

/**
 * Returns the job's read positions as a `LaneRecord`, the form in which lanes (deliveries to
 * destinations) store their read positions.
 */
export function replayRecord({ id, logs }: EventJob) {
  return { logs, known: { [id]: {} } };
}
