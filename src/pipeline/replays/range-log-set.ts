import type { Positions } from "../../log/positions.ts";
import type { Clock, Notifier } from "../clock.ts";
import type { InputEvent } from "../model/input-event.ts";
import type { EventFilter, EventJob } from "../model/replay-job.ts";
import type { LogChunk, LogSet } from "../reading/shared-reader.ts";

export interface RangeLogSetParts {
  job: EventJob;
  logs: LogSet;
  clock: Clock;
  /** Ends the pauses between reads. */
  stopping: Notifier;
}

/**
 * The event logs as one replay sees them: they end where the replay ends, and hold the events that
 * it is about. What a read spends on others is followed by a pause as long, so that looking for a
 * few events in a long log takes at most half of the server's time from live events.
 */
export class RangeLogSet implements LogSet {
  readonly #parts: RangeLogSetParts;
  readonly #sources: ReadonlySet<string>;
  /** Set while a delivery of before a crash is repeated: its events end here. */
  #bounds: Positions | undefined;
  /** See `EventJob`. */
  missingBefore: number | undefined;
  #pauseMs = 0;

  constructor(parts: RangeLogSetParts, bounds: Positions | undefined) {
    this.#parts = parts;
    this.#sources = new Set(parts.job.sources);
    this.#bounds = bounds;
    this.missingBefore = parts.job.missingBefore;
  }

  /** The delivery that is repeated is complete. */
  goOn(): void {
    this.#bounds = undefined;
  }

  names(): string[] {
    const known = this.#parts.logs.names();
    return Object.keys(this.#parts.job.ends).filter((log) => known.includes(log));
  }

  end(log: string): number {
    return Math.min(this.#bound(log), this.#parts.logs.end(log));
  }

  /** Whether all that is to be read can be read: soon after a start logs may not know their ends. */
  get isWhole(): boolean {
    return this.names().every((log) => this.#parts.logs.end(log) >= this.#bound(log));
  }

  first(log: string): number {
    return this.#parts.logs.first(log);
  }

  /** A replay hears no news: what it is about was there when it began. */
  pass(): void {}

  passed(): number {
    return 0;
  }

  countBetween(log: string, from: number, to: number): number {
    return this.#parts.logs.countBetween(log, from, to);
  }

  sizeOf(log: string, sequence: number, input: InputEvent): number | undefined {
    return this.#parts.logs.sizeOf(log, sequence, input);
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
    const inputs = chunk.inputs.filter(
      (it) => it.sequence < end && this.#isWanted(log, it.sequence, it.input),
    );
    const strange = 1 - inputs.length / Math.max(1, chunk.inputs.length);
    this.#pauseMs = (clock.elapsed() - started) * strange;
    const sources = new Set(inputs.map(({ input }) => input.sourceId));
    return { ...chunk, inputs, sources, next: Math.min(chunk.next, end) };
  }

  #bound(log: string): number {
    const ends = this.#bounds ?? this.#parts.job.ends;
    return ends[log] ?? 0;
  }

  /** The read began at what is left of the log: something of the range may have been before. */
  #noteMissing(log: string, { inputs }: LogChunk): void {
    const oldest = inputs[0]?.input.receivedAt;
    if (oldest === undefined || this.#parts.logs.first(log) === 0) return;
    const { from, to } = this.#parts.job;
    if (oldest <= from) return;
    this.missingBefore = Math.max(this.missingBefore ?? 0, Math.min(oldest, to));
  }

  #isWanted(log: string, sequence: number, input: InputEvent): boolean {
    const { from, to, filter } = this.#parts.job;
    if (!this.#sources.has(input.sourceId)) return false;
    if (input.receivedAt < from || input.receivedAt >= to) return false;
    if (filter === undefined || (filter.type ?? input.type) !== input.type)
      return filter === undefined;
    if (!asksForEvent(filter)) return true;
    // From here on the event has to be built, which may show that it cannot be.
    if (this.sizeOf(log, sequence, input) === undefined) return false;
    const { name, userId, anonymousId } = input.event;
    return (
      (filter.event ?? name) === name &&
      (filter.userId ?? userId) === userId &&
      (filter.anonymousId ?? anonymousId) === anonymousId
    );
  }
}

function asksForEvent({ event, userId, anonymousId }: EventFilter): boolean {
  return (event ?? userId ?? anonymousId) !== undefined;
}
