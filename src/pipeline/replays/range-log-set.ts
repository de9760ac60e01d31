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
 * The event logs as one replay reads them: limited to the replay's range and to the events that
 * match its filter. After each read, the replay pauses before the next one. The pause is as long as
 * the read took, times the share of the events that did not match. A replay that matches few events
 * of a long log therefore reads during about half of the time.
 */
export class RangeLogSet implements LogSet {
  readonly #parts: RangeLogSetParts;
  readonly #sources: ReadonlySet<string>;
  readonly #messageIds: ReadonlySet<string> | undefined;
  readonly #hasContent: ((json: Uint8Array) => boolean) | undefined;
  /**
   * Log positions at which reading ends during recovery: after the events that were being sent at
   * the crash. Undefined after recovery.
   */
  #bounds: Positions | undefined;
  /**
   * Time before which records of the range may be missing, because they were deleted; see
   * `EventJob`. Undefined when no record is missing.
   */
  missingBefore: number | undefined;
  #pauseMs = 0;

  constructor(parts: RangeLogSetParts, bounds: Positions | undefined) {
    this.#parts = parts;
    this.#sources = new Set(parts.job.sources);
    const { filter } = parts.job;
    this.#messageIds = filter?.messageIds && new Set(filter.messageIds.flatMap(casesOf));
    this.#hasContent = filter && contentMatcher(filter);
    this.#bounds = bounds;
    this.missingBefore = parts.job.missingBefore;
  }

  /** Ends the recovery after a crash. Then the whole range is read. */
  endRecovery(): void {
    this.#bounds = undefined;
  }

  names(): string[] {
    const known = this.#parts.logs.names();
    return Object.keys(this.#parts.job.ends).filter((log) => known.includes(log));
  }

  end(log: string): number {
    return Math.min(this.#bound(log), this.#parts.logs.end(log));
  }

  /**
   * Whether the whole range can be read. Soon after a start this may be false, since logs may not
   * know their ends yet.
   */
  get isWhole(): boolean {
    return this.names().every((log) => this.#parts.logs.end(log) >= this.#bound(log));
  }

  first(log: string): number {
    return this.#parts.logs.first(log);
  }

  /**
   * Does nothing: the end of the range is fixed when the replay begins, so new records do not
   * matter.
   */
  setAnnouncedEnd(): void {}

  heldSince(): undefined {}

  announcedEnd(): number {
    return 0;
  }

  countBetween(log: string, from: number, to: number): number {
    return this.#parts.logs.countBetween(log, from, to);
  }

  sizeOf(log: string, input: LogInput): number | undefined {
    return this.#parts.logs.sizeOf(log, input);
  }

  /** Returns the record's earlier occurrence, if it is in the range of this replay too. */
  previousOf(log: string, sequence: number): Occurrence | undefined {
    const { job, logs } = this.#parts;
    const previous = logs.previousOf(log, sequence);
    if (previous === undefined) return undefined;
    const { receivedAt } = previous;
    const isInRange =
      receivedAt >= job.from &&
      receivedAt < job.to &&
      previous.sequence >= logs.first(previous.log) &&
      previous.sequence < (job.ends[previous.log] ?? 0);
    return isInRange ? previous : undefined;
  }

  async read(log: string, sequence: number): Promise<LogChunk | undefined> {
    const { logs, clock, stopping } = this.#parts;
    const end = this.end(log);
    if (sequence >= end) return undefined;
    if (this.#pauseMs > 0) await clock.sleep(this.#pauseMs, stopping);
    const started = clock.elapsed();
    const isOldest = sequence <= logs.first(log);
    const chunk = await logs.read(log, sequence);
    if (chunk === undefined) return undefined;
    if (isOldest) this.#noteMissing(log, chunk);
    const inputs = chunk.inputs.filter((it) => it.sequence < end && this.#isWanted(log, it));
    const otherFraction = 1 - inputs.length / Math.max(1, chunk.inputs.length);
    this.#pauseMs = (clock.elapsed() - started) * otherFraction;
    const sources = new Set(inputs.map(({ sourceId }) => sourceId));
    const newerAt = chunk.next < end ? chunk.newerAt : undefined;
    return { ...chunk, inputs, sources, next: Math.min(chunk.next, end), newerAt };
  }

  #bound(log: string): number {
    const ends = this.#bounds ?? this.#parts.job.ends;
    return ends[log] ?? 0;
  }

  /**
   * Sets `missingBefore` when the log begins after the range's beginning, since the records in
   * between may have been trimmed.
   */
  #noteMissing(log: string, { inputs }: LogChunk): void {
    const oldest = inputs[0]?.receivedAt;
    if (oldest === undefined || this.#parts.logs.first(log) === 0) return;
    const { from, to } = this.#parts.job;
    if (oldest <= from) return;
    this.missingBefore = Math.max(this.missingBefore ?? 0, Math.min(oldest, to));
  }

  #isWanted(log: string, input: LogInput): boolean {
    const { from, to, filter } = this.#parts.job;
    if (!this.#sources.has(input.sourceId)) return false;
    if (input.receivedAt < from || input.receivedAt >= to) return false;
    if (filter === undefined) return true;
    if ((filter.type ?? input.type) !== input.type) return false;
    if (!needsBuiltEvent(filter) && this.#hasContent === undefined) return true;
    // Matching needs the event from here on, and building it may show that it cannot be built.
    if (this.sizeOf(log, input) === undefined) return false;
    if (this.#messageIds?.has(input.messageId) === false) return false;
    const { name, userId, anonymousId } = input.event;
    return (
      (filter.event ?? name) === name &&
      (filter.userId ?? userId) === userId &&
      (filter.anonymousId ?? anonymousId) === anonymousId &&
      (this.#hasContent?.(input.event.json) ?? true)
    );
  }
}

function needsBuiltEvent({ event, userId, anonymousId, messageIds }: EventFilter): boolean {
  return (event ?? userId ?? anonymousId ?? messageIds) !== undefined;
}

/**
 * Returns two forms of a messageId: as given, and in lower case, the form in which pixelmill stores
 * the messageIds that it makes.
 */
const casesOf = (messageId: string): string[] => [messageId, messageId.toLowerCase()];
