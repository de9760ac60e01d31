import { LOG_BLOCK_BYTES_MAX } from "../../log/block.ts";
import type { LogPart, LogReader } from "../../log/event-log.ts";
import { firstTime, type TimeOf } from "../../log/time-search.ts";
import { LOG_SEGMENT_BYTES_MAX } from "../../log/writer-options.ts";
import type { readDiskSpace } from "../../observe/disk.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";

/**
 * Limits up to which the logs keep delivered events: `ageMsMax` milliseconds, and `bytesMax` bytes
 * of all event logs together. 0 means no limit, but if both are 0, events are deleted once no
 * destination needs them.
 */
export interface RetentionBounds {
  ageMsMax: number;
  bytesMax: number;
}

export const noRetention: RetentionBounds = { ageMsMax: 0, bytesMax: 0 };

/** Space on the disk that holds the event logs, in bytes. */
export type Disk = ReturnType<typeof readDiskSpace>;

/**
 * Free bytes that the disk should have; on a small disk, the fraction `RETENTION_FREE_SHARE_MIN` of
 * its size is enough. If less is free, the oldest delivered events are deleted despite their
 * retention, because a full disk could not store new events.
 */
export const RETENTION_FREE_BYTES_MIN = 1 << 30;
const RETENTION_FREE_SHARE_MIN = 0.1;

/**
 * Returns the number of bytes to delete until the disk has the required free space; 0 if it has
 * enough.
 */
export function lackingBytes({ freeBytes, sizeBytes }: Disk): number {
  const least = Math.min(RETENTION_FREE_BYTES_MIN, sizeBytes * RETENTION_FREE_SHARE_MIN);
  return Math.max(0, least - freeBytes);
}

interface RetentionParts {
  bounds: RetentionBounds;
  readers: ReadonlyMap<string, LogReader>;
  /**
   * Readers of all event logs, needed only to count the logs: each has an equal share of
   * `bounds.bytesMax`. Logs may be added while the server runs. Absent when `readers` has all logs.
   */
  allReaders?: ReadonlyMap<string, LogReader>;
  timeOf: TimeOf;
  clock: Pick<Clock, "now" | "age">;
  /** Reads size and free space of the disk. Absent when the logs are on other machines' disks. */
  disk?: (() => Disk) | undefined;
  /**
   * Counts the bytes of delivered events that are deleted before the end of their retention,
   * because the disk is nearly full.
   */
  onGivenUp?(bytes: number): void;
  logger: Logger;
}

/**
 * Planned deletion in one log: the elements of `parts` (such as segment files) with an index below
 * `at`. Parts with a record at or after position `below` stay, because a delivery may need this
 * record.
 */
interface Cut {
  name: string;
  reader: LogReader;
  parts: LogPart[];
  at: number;
  below: number;
}

/** Decides which log records are deleted after their delivery has ended at all destinations. */
export class Retention {
  /**
   * Log → first sequence number of a part of the log (such as a segment file) → time of receipt of
   * the first record in this part. A cache, so that each time is read only once.
   */
  readonly #times = new Map<string, Map<number, number>>();

  constructor(private readonly parts: RetentionParts) {}

  /**
   * Returns for each log the position before which its records may be deleted, at most its position
   * in `below`. Without bounds, returns `below`. With bounds, gives up the oldest log parts (such
   * as segment files) until age and size are within the bounds and the disk is not nearly full.
   */
  async trimmable(below: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    const { bounds, readers, allReaders = readers, onGivenUp, logger } = this.parts;
    const { ageMsMax } = bounds;
    const bytesMax = (bounds.bytesMax * readers.size) / allReaders.size;
    if (ageMsMax === 0 && bytesMax === 0) return below;
    const cuts = this.#cuts(below);
    let excess = bytesMax === 0 ? 0 : sum(cuts.flatMap((cut) => cut.parts)) - bytesMax;
    let lacking = this.#lacking();
    let givenUp = 0;
    for (;;) {
      const oldest = await this.#oldest(cuts);
      if (oldest === undefined) break;
      const { cut, ageMs } = oldest;
      const isOver = excess > 0 || (ageMsMax > 0 && ageMs > ageMsMax);
      if (!isOver && lacking <= 0) break;
      const { bytes } = cut.parts[cut.at]!;
      if (!isOver) givenUp += bytes;
      excess -= bytes;
      lacking -= bytes;
      cut.at += 1;
    }
    if (givenUp > 0) {
      onGivenUp?.(givenUp);
      logger.warn({ bytes: givenUp }, "kept events deleted: the disk is nearly full");
    }
    return new Map(cuts.map(({ name, parts, at }) => [name, parts[at]?.first ?? 0]));
  }

  get isDiskNearlyFull(): boolean {
    return this.#lacking() > 0;
  }

  #cuts(below: ReadonlyMap<string, number>): Cut[] {
    return Array.from(this.parts.readers, ([name, reader]) => {
      const times = this.#times.getOrInsertComputed(name, () => new Map());
      for (const first of times.keys()) if (first < reader.first()) times.delete(first);
      return { name, reader, parts: reader.parts(), at: 0, below: below.get(name) ?? 0 };
    });
  }

  /**
   * Returns the log that has the oldest part (such as a segment file) among the parts to delete
   * next. Returns undefined when no log has a part that may be deleted.
   */
  async #oldest(cuts: readonly Cut[]): Promise<{ cut: Cut; ageMs: number } | undefined> {
    let oldest: { cut: Cut; ageMs: number } | undefined;
    for (const cut of cuts) {
      const next = cut.parts[cut.at + 1];
      if (next === undefined || next.first > cut.below) continue;
      const ageMs = await this.#age(cut);
      if (oldest === undefined || ageMs > oldest.ageMs) oldest = { cut, ageMs };
    }
    return oldest;
  }

  /**
   * Returns the age in milliseconds of the first record in the log part to delete next. If a wrong
   * clock put its time in the future, uses the first record of a later part. Returns 0 when no age
   * can be read.
   */
  async #age(cut: Cut): Promise<number> {
    const { clock, logger } = this.parts;
    for (let index = cut.at; index < cut.parts.length; index++) {
      try {
        const time = await this.#timeOf(cut, index);
        if (time !== undefined && time <= clock.now()) return clock.age(time);
      } catch (error) {
        logger.error({ log: cut.name, err: error }, "cannot read the age of kept events");
        return 0;
      }
    }
    return 0;
  }

  async #timeOf({ name, reader, parts }: Cut, index: number): Promise<number | undefined> {
    const { first } = parts[index]!;
    const times = this.#times.get(name)!;
    const time = times.get(first) ?? (await firstTime(reader, this.parts.timeOf, first));
    if (time !== undefined) times.set(first, time);
    return time;
  }

  #lacking(): number {
    const { disk, logger } = this.parts;
    if (disk === undefined) return 0;
    try {
      return lackingBytes(disk());
    } catch (error) {
      logger.error({ err: error }, "cannot read free disk space");
      return 0;
    }
  }
}

function sum(parts: readonly LogPart[]): number {
  return parts.reduce((bytes, part) => bytes + part.bytes, 0);
}

/**
 * Fraction of a retention bound that one log segment may cover. Segments are deleted as a whole, so
 * smaller ones follow the bound more closely.
 */
const SEGMENT_FRACTION = 1 / 16;
/** Minimum of a segment's age bound in milliseconds; its maximum is `SEGMENT_MS_MAX`. */
const SEGMENT_MS_MIN = 1_000;
export const SEGMENT_MS_MAX = 3_600_000;

/**
 * Returns bounds on the size and the age of a log segment, given the retention bounds and the
 * number of logs.
 */
export function segmentBounds({ ageMsMax, bytesMax }: RetentionBounds, logs: number) {
  const bytes = clamp(
    (bytesMax * SEGMENT_FRACTION) / logs,
    LOG_BLOCK_BYTES_MAX,
    LOG_SEGMENT_BYTES_MAX,
  );
  const ms = clamp(ageMsMax * SEGMENT_FRACTION, SEGMENT_MS_MIN, SEGMENT_MS_MAX);
  return {
    ...(bytesMax > 0 && { segmentBytesMax: Math.floor(bytes) }),
    ...(ageMsMax > 0 && { segmentMsMax: Math.floor(ms) }),
  };
}

const clamp = (value: number, min: number, max: number) => Math.max(min, Math.min(value, max));
