import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import type { Clock, Notifier } from "../clock.ts";
import { createRequeuedEvent } from "../dead-letters/letter-events.ts";
import type { InFlight } from "../in-flight.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";

/** Shortest time between two rounds of a lane that is at the end of the log. */
const GATHER_MS = 10;

/** Replays' share of a batch while more live events wait than the batch holds. */
const REPLAYS_SHARE = 0.1;

export interface BatchSchedulerParts {
  destinationId: string;
  reader: LaneReader;
  inFlight: InFlight;
  metrics: Pick<LaneMetrics, "histories">;
  ledger: Ledger;
  /** Of the log; replays of dead letters are the ledger's. */
  replays: LaneReplays;
  /** Ids of the dead letters that are in flight again. */
  replaying: Set<string>;
  /** Notifies when there may be something to take, or room for it. */
  work: Notifier;
  clock: Clock;
  /** Ends waiting: settings changed, or the lane ends. */
  changed: Notifier;
}

/**
 * What a lane works on next: first what has to run again, then live events, and replays beside
 * them.
 */
export class BatchScheduler {
  readonly #parts: BatchSchedulerParts;
  #replaysWait: boolean;
  /** Replays that are due, and the fraction of one, from batches too small for a whole one. */
  #replaysDue = 0;
  /** Items that were taken, in order, and have to run again because their outputs found no room. */
  #unrun: LaneEvent[] = [];
  /** Bytes that code makes of an event, as seen of late. */
  #madeBytes = 0;
  /** Whether the last round found nothing to take. */
  #isFresh = false;
  /** When the last round began that followed a round without items. */
  #roundAt = 0;

  constructor(parts: BatchSchedulerParts) {
    this.#parts = parts;
    const { ledger, destinationId, replaying } = parts;
    this.#replaysWait = ledger.replays(destinationId, replaying, 1).length > 0;
  }

  get runsAgain(): boolean {
    return this.#unrun.length > 0;
  }

  /** The ledger holds replays that were not taken yet. */
  replay(): void {
    this.#replaysWait = true;
  }

  /** The outputs of these items found no room; the items come before all others. */
  putBack(items: readonly LaneEvent[]): void {
    this.#unrun.unshift(...items);
  }

  /** These items were taken behind some whose outputs found no room. */
  putBehind(items: readonly LaneEvent[]): void {
    this.#unrun.push(...items);
  }

  /** Code made so many bytes of an event. */
  noteMade(bytes: number): void {
    this.#madeBytes = Math.max(bytes, this.#madeBytes / 2);
  }

  /** The next batch; empty when there is nothing to run, or no room for it: then `work` notifies. */
  async take(): Promise<LaneEvent[]> {
    if (this.#isFresh) await this.#gather();
    const items = await this.#take();
    this.#isFresh = items.length === 0;
    return items;
  }

  /**
   * Waits, when events come one by one and soon after each other, until several can be taken
   * together: a round costs the server half a millisecond, however many it takes.
   */
  async #gather(): Promise<void> {
    const { clock, changed } = this.#parts;
    const waitMs = this.#roundAt + GATHER_MS - clock.now();
    // The difference is out of bounds when the clock was set back.
    if (waitMs > 0 && waitMs <= GATHER_MS) await clock.sleep(waitMs, changed);
    this.#roundAt = clock.now();
  }

  async #take(): Promise<LaneEvent[]> {
    const { inFlight, work } = this.#parts;
    const { room } = inFlight;
    // As many items as will have room once they have run, judged by what code made of the last
    // ones.
    const fitting = Math.ceil(room.bytes / Math.max(1, this.#madeBytes));
    const count = Math.max(1, Math.min(fitting, TRANSFORM_BATCH_EVENTS_MAX));
    const [first] = this.#unrun;
    const mayTake = first === undefined ? room.events > 0 : inFlight.mayEmit(first);
    if (!mayTake) {
      inFlight.wait(work);
      return [];
    }
    if (first !== undefined) return this.#unrun.splice(0, count);
    return await this.#takeNew(Math.min(room.events, count), room.bytes);
  }

  /**
   * New items. Replays fill what live events leave of a batch, and have a small share at least: of
   * each batch, or of every so many where a batch is a few events.
   */
  async #takeNew(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, inFlight } = this.#parts;
    const kept = this.#keptForReplays(count);
    if (kept === count && reader.repeated === undefined) {
      const replays = this.#takeReplays(count, bytes);
      if (replays.length > 0) return replays;
    }
    const items = await reader.take(Math.max(1, count - kept), bytes);
    const { clock, metrics, destinationId } = this.#parts;
    const history = metrics.histories.of(destinationId);
    const now = clock.now();
    for (const item of items) {
      inFlight.take(item);
      history.received(item.input.sourceId, now);
    }
    const left = inFlight.room;
    const room = Math.min(count - items.length, left.events);
    try {
      const isRepeated = reader.repeated !== undefined;
      const replays = isRepeated
        ? await this.#takeRepeated(room, left.bytes)
        : this.#takeReplays(room, left.bytes);
      return [...items, ...replays];
    } catch (error) {
      // Live events that were taken must not be lost because the ledger cannot be read.
      if (items.length === 0) throw error;
      return items;
    }
  }

  #keptForReplays(count: number): number {
    if (!this.#replaysWait && !this.#parts.replays.isDue) return 0;
    this.#replaysDue += count * REPLAYS_SHARE;
    const kept = Math.min(count, Math.floor(this.#replaysDue));
    this.#replaysDue -= kept;
    return kept;
  }

  #takeReplays(count: number, bytes: number): LaneEvent[] {
    const { replays, inFlight } = this.#parts;
    const letters = this.#takeLetters(count, bytes);
    const left = bytes - letters.reduce((sum, item) => sum + item.bytes, 0);
    const events = replays.take(count - letters.length, left);
    for (const item of events) inFlight.take(item);
    return [...letters, ...events];
  }

  /** Replays that were in the delivery of before a crash. */
  async #takeRepeated(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, replays, inFlight } = this.#parts;
    const letters = reader.repeated?.letter === undefined ? [] : this.#takeLetters(count, bytes);
    if (letters.length > 0) return letters;
    const events = await replays.takeRepeated(count, bytes);
    for (const item of events) inFlight.take(item);
    return events;
  }

  #takeLetters(count: number, bytes: number): LaneEvent[] {
    if (!this.#replaysWait) return [];
    const { ledger, replaying, destinationId, inFlight } = this.#parts;
    const events = Math.min(count, LANE_REPLAYS_EVENTS_MAX - replaying.size);
    if (events <= 0) return [];
    const end = this.#parts.reader.repeated?.letter;
    const bounds = { charsMax: bytes, ...(end !== undefined && { end }) };
    const replays = ledger.replays(destinationId, replaying, events, bounds);
    this.#replaysWait = replays.length > 0;
    for (const { letter } of replays) replaying.add(letter.id);
    const items = replays.map(createRequeuedEvent);
    for (const item of items) inFlight.take(item);
    return items;
  }
}
