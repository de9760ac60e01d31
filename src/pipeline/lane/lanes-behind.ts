import type { LogPlace, RestingReader } from "../reading/resting-reader.ts";
import type { LogChunk, LogSet } from "../reading/shared-reader.ts";

/** The part of a lane that `LanesBehind` uses. A lane delivers the events of one destination. */
interface Resting {
  /** Reader of the lane while the lane rests and may have unread records; undefined otherwise. */
  readonly behind: RestingReader | undefined;
}

/**
 * Number of lanes that are compared with the records of one read before the event loop can do other
 * work. A comparison takes 1 µs, or up to 20 µs if an idle lane must be woken.
 */
const LANES_PER_TURN = 256;

/**
 * Reads the logs for resting lanes that may have unread records. Wakes the lanes to which a record
 * may have to be delivered, and moves the others past the records. Lanes at the same position share
 * one read, so that thousands of idle destinations cost one read of a log.
 */
export class LanesBehind<L extends Resting> {
  /** The resting lanes that may have unread records, in the order of their turns. */
  readonly #lanes = new Set<L>();
  /**
   * Log → end of the log when `add` last added a lane. This class reads each log only up to this
   * end. For later records, an `Announcer` wakes the lanes.
   */
  readonly #ends = new Map<string, number>();
  /**
   * Read position of the lane that is furthest behind. Every second read begins at this position;
   * the other reads begin at the position of the next lane in `#lanes`.
   */
  #furthest: LogPlace | undefined;
  #isTurnOfFurthest = false;
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(
    private readonly logs: LogSet,
    private readonly wake: (lanes: readonly L[]) => void,
  ) {}

  /** Adds a lane if it rests and may have unread records. */
  add(lane: L | undefined): void {
    if (lane?.behind === undefined || this.#isStopped) return;
    this.#lanes.add(lane);
    for (const log of this.logs.names()) this.#ends.set(log, this.logs.end(log));
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // The caller adds its other lanes first.
    await Bun.sleep(0);
    for (let at = this.#next(); at !== undefined && !this.#isStopped; at = this.#next()) {
      await this.#show(at, await this.#read(at));
    }
    this.#running = undefined;
  }

  /** Returns the read position of the lane whose turn it is. Undefined when no lane is behind. */
  #next(): LogPlace | undefined {
    this.#isTurnOfFurthest = !this.#isTurnOfFurthest;
    if (this.#isTurnOfFurthest && this.#furthest !== undefined) return this.#furthest;
    for (const lane of this.#lanes) {
      this.#lanes.delete(lane);
      const at = lane.behind?.nextBelow(this.#ends);
      if (at === undefined) continue;
      this.#lanes.add(lane);
      return at;
    }
    return undefined;
  }

  /**
   * Reads records of a log. Resolves with undefined after an error or without new records. The
   * caller must then wake the lanes at this position, so that they read the log themselves and
   * report the error.
   */
  async #read({ log, sequence }: LogPlace): Promise<LogChunk | undefined> {
    const chunk = await this.logs.read(log, sequence).catch(() => undefined);
    if (chunk === undefined || (chunk.next <= sequence && chunk.newerAt === undefined)) return;
    return chunk;
  }

  async #show(at: LogPlace, chunk: LogChunk | undefined): Promise<void> {
    let furthest: LogPlace | undefined;
    let woken: L[] = [];
    let count = 0;
    for (const lane of [...this.#lanes]) {
      const reader = lane.behind;
      const isConcerned = reader !== undefined && !this.#pass(reader, at, chunk);
      const next = isConcerned ? undefined : reader?.nextBelow(this.#ends);
      if (isConcerned) woken.push(lane);
      if (next === undefined) this.#lanes.delete(lane);
      else if (furthest === undefined || next.sequence < furthest.sequence) furthest = next;
      if (++count % LANES_PER_TURN !== 0) continue;
      this.wake(woken);
      woken = [];
      await Bun.sleep(0);
    }
    this.wake(woken);
    this.#furthest = furthest;
  }

  /**
   * Moves a resting lane past the records that were read. Returns false if the lane must be woken
   * to read them itself.
   */
  #pass(reader: RestingReader, { log, sequence }: LogPlace, chunk: LogChunk | undefined): boolean {
    return chunk === undefined ? !reader.isAt(log, sequence) : reader.pass(log, chunk);
  }
}
