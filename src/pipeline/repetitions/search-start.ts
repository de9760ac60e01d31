import type { Live } from "../../catalog/live.ts";
import type { LogReader } from "../../log/event-log.ts";
import { firstTime, positionAt, type TimeOf } from "../../log/time-search.ts";
import { DEDUP_READ_BYTES_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";

export interface SearchStartParts {
  /** Log name → reader, for all logs of the partition. */
  readers: ReadonlyMap<string, LogReader>;
  ledger: Pick<Ledger, "repetitions" | "lanes">;
  live: Pick<Live, "longestDedupSeconds">;
  clock: Pick<Clock, "now">;
  timeOf: TimeOf;
  readBytesMax?: number;
}

/**
 * Finds two positions of a log at which the search for repeated events begins after a restart: the
 * position from which it searches for repetitions, and an earlier position from which it reads
 * messageIds first.
 */
export class SearchStart {
  #oldest: Promise<number> | undefined;

  constructor(private readonly parts: SearchStartParts) {}

  /**
   * Returns the earliest position at which a search of the log may begin. From there, the log has
   * at most `readBytesMax` bytes, or only its last part (such as a segment file) if this part is
   * larger.
   */
  firstOf(reader: LogReader): number {
    return Math.max(reader.first(), earliest(reader, this.parts.readBytesMax));
  }

  /**
   * Returns the position at which the search of a log continues after a restart, but never one
   * below `firstOf(reader)`. It is the stored position or, without one, the lowest of:
   * - `from`, the read position of a delivery
   * - the first record without a final outcome at some destination
   * - the first record within the longest deduplication window
   */
  async firstUnsearched(log: string, reader: LogReader, from = reader.end()): Promise<number> {
    const stored = this.parts.ledger.repetitions.positions()[log];
    if (stored !== undefined) return Math.max(this.firstOf(reader), stored);
    const recent = await this.positionWithin(reader, this.parts.clock.now());
    return Math.max(this.firstOf(reader), Math.min(recent, from, this.#lowestCursor(log)));
  }

  /**
   * Returns the position from which the messageIds of a log must be read before its search
   * continues at `unsearched`. This is the first record within the longest deduplication window
   * before the oldest unsearched record of all logs, but never one below `firstOf(reader)`.
   */
  async firstNeeded(reader: LogReader, unsearched: number): Promise<number> {
    const { clock, timeOf } = this.parts;
    this.#oldest ??= this.#oldestUnsearched().catch((error) => {
      this.#oldest = undefined;
      throw error;
    });
    const own = (await firstTime(reader, timeOf, unsearched)) ?? clock.now();
    const since = await this.positionWithin(reader, Math.min(own, await this.#oldest));
    return Math.max(this.firstOf(reader), since);
  }

  /**
   * Returns the time of receipt of the oldest record, in any log, at which a search after a restart
   * would continue. Returns the present time if there is none.
   */
  async oldestToSearch(): Promise<number> {
    const { ledger, readers, timeOf, clock } = this.parts;
    let oldest = clock.now();
    for (const [log, position] of Object.entries(ledger.repetitions.positions())) {
      const reader = readers.get(log);
      if (reader === undefined || position >= reader.end()) continue;
      const at = Math.max(this.firstOf(reader), position);
      oldest = Math.min(oldest, (await firstTime(reader, timeOf, at)) ?? oldest);
    }
    return oldest;
  }

  /**
   * Returns the position of the first record that was received at or after a time: `time` minus the
   * longest deduplication window.
   */
  async positionWithin(reader: LogReader, time: number): Promise<number> {
    const windowMs = this.parts.live.longestDedupSeconds() * 1_000;
    return await positionAt(reader, time - windowMs, this.parts.timeOf);
  }

  /**
   * Returns the time of receipt of the oldest record, in any log, that was not searched before the
   * restart.
   */
  async #oldestUnsearched(): Promise<number> {
    const { readers, timeOf, clock } = this.parts;
    let oldest = clock.now();
    for (const [log, reader] of readers) {
      const at = await this.firstUnsearched(log, reader);
      oldest = Math.min(oldest, (await firstTime(reader, timeOf, at)) ?? oldest);
    }
    return oldest;
  }

  /** Returns the lowest log position whose record has no final outcome at some destination. */
  #lowestCursor(log: string): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { logs } of this.parts.ledger.lanes()) {
      const cursor = logs[log];
      if (cursor !== undefined) lowest = Math.min(lowest, cursor.next, ...cursor.pending);
    }
    return lowest;
  }
}

/**
 * Returns the beginning of the earliest log part (such as a segment file) from which the log has at
 * most `bytesMax` bytes to its end. If the last part alone is larger, returns its beginning.
 */
function earliest(reader: LogReader, bytesMax = DEDUP_READ_BYTES_MAX): number {
  let bytes = 0;
  let first: number | undefined;
  for (const part of reader.parts().toReversed()) {
    bytes += part.bytes;
    if (bytes > bytesMax && first !== undefined) return first;
    if (part.bytes > 0) first = part.first;
  }
  return reader.first();
}
