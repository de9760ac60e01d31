import type { LogPlace, RestingReader } from "../reading/resting-reader.ts";
import type { LogChunk, LogSet } from "../reading/shared-reader.ts";

/** The part of a lane (the delivery to one destination) that handles its rest. */
interface Resting {
  /** Its reader while it rests and there may be records for it; else undefined. */
  readonly behind: RestingReader | undefined;
}

/**
 * Maximum number of lanes that learn of new records at once. Each takes 1 µs, or up to 20 µs if it
 * was idle.
 */
const LANES_AT_ONCE_MAX = 256;

/**
 * Shows the logs to lanes that rest and may have missed records, as after a start, and wakes those
 * that a record may be for. One read serves all lanes at its records, so that thousands of idle
 * destinations read a log once and stay without working parts.
 */
export class LanesBehind<L extends Resting> {
  readonly #logs: LogSet;
  readonly #wake: (lanes: readonly L[]) => void;
  /** The lanes that are behind, in the order of their turns. */
  readonly #lanes = new Set<L>();
  /** Log → its end when a lane was last added. Later records are announced to their lanes. */
  readonly #ends = new Map<string, number>();
  /** The place of the lane that is furthest behind. It has every second turn, so that lanes meet. */
  #furthest: LogPlace | undefined;
  #isTurnOfFurthest = false;
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(logs: LogSet, wake: (lanes: readonly L[]) => void) {
    this.#logs = logs;
    this.#wake = wake;
  }

  /** Adds a lane if it is behind. */
  add(lane: L | undefined): void {
    if (lane?.behind === undefined || this.#isStopped) return;
    this.#lanes.add(lane);
    for (const log of this.#logs.names()) this.#ends.set(log, this.#logs.end(log));
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

  /** The place to read next: that of the lane whose turn it is. Undefined when none is behind. */
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

  /** Returns undefined when reading fails: the lanes then read themselves, and report the error. */
  async #read({ log, sequence }: LogPlace): Promise<LogChunk | undefined> {
    const chunk = await this.#logs.read(log, sequence).catch(() => undefined);
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
      if (++count % LANES_AT_ONCE_MAX !== 0) continue;
      this.#wake(woken);
      woken = [];
      await Bun.sleep(0);
    }
    this.#wake(woken);
    this.#furthest = furthest;
  }

  /** Passes what was read at a place. Returns false when the lane must read there for itself. */
  #pass(reader: RestingReader, { log, sequence }: LogPlace, chunk: LogChunk | undefined): boolean {
    return chunk === undefined ? !reader.isAt(log, sequence) : reader.pass(log, chunk);
  }
}
