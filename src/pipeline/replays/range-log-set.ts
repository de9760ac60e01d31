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
 * Returns the event logs as one replay reads them: limited to the replay's range and to the events
 * that match its filter. After each read, the replay pauses before the next one. The pause is as
 * long as the read took, times the share of the events that did not match. A replay that matches
 * few events of a long log therefore reads during about half of the time.
 *
 * During recovery, reading ends at the log positions `recovered`: after the events that were being
 * sent at the crash. Undefined when there is nothing to recover.
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
   * Sets `missingBefore` when the log begins after the range's beginning, since the records in
   * between may have been trimmed.
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
     * Does nothing: the end of the range is fixed when the replay begins, so new records do not
     * matter.
     */
    setAnnouncedEnd() {},
    heldSince: () => undefined,
    announcedEnd: () => 0,
    /** Returns the record's earlier occurrence, if it is in the range of this replay too. */
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
    /** Ends the recovery after a crash. Then the whole range is read. */
    endRecovery() {
      bounds = undefined;
    },
    /**
     * Whether the whole range can be read. Soon after a start this may be false, since logs may not
     * know their ends yet.
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
 * Returns routes that send all events of the job's sources to its destination, as if the sources
 * had been connected at all times.
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
