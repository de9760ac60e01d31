import type { LogPart, LogReader } from "../../log/event-log.ts";
import { firstTime, type TimeOf } from "../../log/time-search.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";

/**
 * Bounds of the events that are kept after every lane has passed them: their age, and the bytes of
 * all event logs; 0 is no bound. Without either bound none are kept.
 */
export interface RetentionBounds {
  ageMsMax: number;
  bytesMax: number;
}

export const noRetention: RetentionBounds = { ageMsMax: 0, bytesMax: 0 };

/** The disk that holds the event logs. */
export interface Disk {
  freeBytes: number;
  sizeBytes: number;
}

/**
 * Least free bytes of a disk, or a fraction of a small one: below it the oldest kept events are
 * deleted, since a pixel that cannot be written is lost, and a kept event was delivered.
 */
export const RETENTION_FREE_BYTES_MIN = 1 << 30;
const RETENTION_FREE_SHARE_MIN = 0.1;

/** Bytes that kept events have to free on a disk. */
export function lackingBytes({ freeBytes, sizeBytes }: Disk): number {
  const least = Math.min(RETENTION_FREE_BYTES_MIN, sizeBytes * RETENTION_FREE_SHARE_MIN);
  return Math.max(0, least - freeBytes);
}

export interface RetentionParts {
  bounds: RetentionBounds;
  readers: ReadonlyMap<string, LogReader>;
  timeOf: TimeOf;
  clock: Pick<Clock, "now" | "age">;
  /** Absent when the logs are on the disks of other machines. */
  disk?: (() => Disk) | undefined;
  /** Called with bytes that were deleted although they were within the bounds. */
  onGivenUp?(bytes: number): void;
  logger: Logger;
}

/** The planned cut of a log: its parts before `at` are removed. */
interface Cut {
  name: string;
  reader: LogReader;
  parts: LogPart[];
  at: number;
  below: number;
}

/** Keeps events that every lane has passed, up to the bounds. */
export class Retention {
  readonly #parts: RetentionParts;
  /** Times of first records, by log and the sequence number at which a part starts. */
  readonly #times = new Map<string, Map<number, number>>();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /**
   * Positions up to which each log may be trimmed. `below` is the position in each log below which
   * no lane needs a record; all parts below it are trimmed unless a bound keeps them. A part is
   * trimmed as a whole: when its first record is too old, or when it is the oldest of all logs and
   * these take too much.
   */
  async trimmable(below: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
    const { ageMsMax, bytesMax } = this.#parts.bounds;
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
    if (givenUp > 0) this.#tellGivenUp(givenUp);
    return new Map(cuts.map(({ name, parts, at }) => [name, parts[at]?.first ?? 0]));
  }

  #cuts(below: ReadonlyMap<string, number>): Cut[] {
    return Array.from(this.#parts.readers, ([name, reader]) => {
      const times = this.#times.get(name) ?? new Map<number, number>();
      for (const first of times.keys()) if (first < reader.first()) times.delete(first);
      this.#times.set(name, times);
      return { name, reader, parts: reader.parts(), at: 0, below: below.get(name) ?? 0 };
    });
  }

  /** The oldest of the next removable parts of all logs. */
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
   * Age of the first record of the next part. A part that a wrong clock put into the future is as
   * old
   * as the part after it. A part that cannot be read counts as new.
   */
  async #age(cut: Cut): Promise<number> {
    const { clock, logger } = this.#parts;
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
    const part = parts[index];
    if (part === undefined) return undefined;
    const times = this.#times.get(name)!;
    const time = times.get(part.first) ?? (await firstTime(reader, this.#parts.timeOf, part.first));
    if (time !== undefined) times.set(part.first, time);
    return time;
  }

  #lacking(): number {
    const { disk, logger } = this.#parts;
    if (disk === undefined) return 0;
    try {
      return lackingBytes(disk());
    } catch (error) {
      logger.error({ err: error }, "cannot read free disk space");
      return 0;
    }
  }

  #tellGivenUp(bytes: number): void {
    this.#parts.onGivenUp?.(bytes);
    const problem = "kept events deleted: the disk is nearly full";
    this.#parts.logger.warn({ bytes }, problem);
  }
}

function sum(parts: readonly LogPart[]): number {
  return parts.reduce((bytes, part) => bytes + part.bytes, 0);
}
