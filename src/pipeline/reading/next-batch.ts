import { TRANSFORM_BATCH_EVENTS_MAX } from "../../limits.ts";
import type { Clock, Notifier } from "../clock.ts";
import { itemOfReplay } from "../dead-letters/dead-letters.ts";
import type { InFlight } from "../in-flight.ts";
import type { Item } from "../item.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LaneMetrics } from "../metrics.ts";
import type { Ledger } from "../settling/ledger.ts";
import type { LaneReader } from "./lane-reader.ts";

/** Shortest time between rounds of a lane that is at the end of the log. */
const GATHER_MS = 10;

/** Of a batch, while more live events wait than fit into it. */
const REPLAYS_SHARE = 0.1;

export interface NextBatchParts {
  destinationId: string;
  reader: LaneReader;
  inFlight: InFlight;
  metrics: Pick<LaneMetrics, "histories">;
  ledger: Ledger;
  /** Letters that are in flight, by id. */
  replaying: Set<string>;
  /** Notifies when there may be something to take, or room for it. */
  work: Notifier;
  clock: Clock;
  /** Ends waiting: settings changed, or the lane ends. */
  changed: Notifier;
}

/** What a lane works on next: live events first, replays beside them, and what runs again. */
export class NextBatch {
  readonly #parts: NextBatchParts;
  #replaysWait: boolean;
  /** Taken, in order, and to be run again: what became of them found no room. */
  #unrun: Item[] = [];
  /** Bytes that code makes of an event, about. */
  #madeBytes = 0;
  /** There was nothing to take the last time. */
  #isFresh = false;
  /** When the last round began that came after such a time. */
  #roundAt = 0;

  constructor(parts: NextBatchParts) {
    this.#parts = parts;
    const { ledger, destinationId, replaying } = parts;
    this.#replaysWait = ledger.replays(destinationId, replaying, 1).length > 0;
  }

  get runsAgain(): boolean {
    return this.#unrun.length > 0;
  }

  /** The ledger holds replays that were not taken. */
  replay(): void {
    this.#replaysWait = true;
  }

  /** These did not find room; they come before all others. */
  putBack(items: readonly Item[]): void {
    this.#unrun.unshift(...items);
  }

  /** These were taken behind some that did not find room. */
  putBehind(items: readonly Item[]): void {
    this.#unrun.push(...items);
  }

  /** So many bytes were made of an event. */
  noteMade(bytes: number): void {
    this.#madeBytes = Math.max(bytes, this.#madeBytes / 2);
  }

  /** The next batch; empty when there is nothing to run, or no room for it: then `work` notifies. */
  async take(): Promise<Item[]> {
    if (this.#isFresh) await this.#gather();
    const items = await this.#take();
    this.#isFresh = items.length === 0;
    return items;
  }

  /**
   * Events that come one by one, and not long after the last ones, wait for each other: a round
   * costs the server half a millisecond, whatever it takes.
   */
  async #gather(): Promise<void> {
    const { clock, changed } = this.#parts;
    const waitMs = this.#roundAt + GATHER_MS - clock.now();
    // The clock may have been set back.
    if (waitMs > 0 && waitMs <= GATHER_MS) await clock.sleep(waitMs, changed);
    this.#roundAt = clock.now();
  }

  async #take(): Promise<Item[]> {
    const { inFlight, work } = this.#parts;
    const { room } = inFlight;
    // As many as will find room when they are run, by what code made of the last ones.
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

  /** Replays fill what live events leave, and have a small part of each batch at least. */
  async #takeNew(count: number, bytes: number): Promise<Item[]> {
    const { reader, inFlight } = this.#parts;
    const kept = this.#replaysWait ? Math.ceil(count * REPLAYS_SHARE) : 0;
    const items = await reader.take(Math.max(1, count - kept), bytes);
    const { clock, metrics, destinationId } = this.#parts;
    const history = metrics.histories.of(destinationId);
    const now = clock.now();
    for (const item of items) {
      inFlight.take(item);
      history.received(item.input.sourceId, now);
    }
    if (!this.#replaysWait) return items;
    const left = inFlight.room;
    try {
      const replays = this.#takeReplays(Math.min(count - items.length, left.events), left.bytes);
      for (const item of replays) inFlight.take(item);
      return [...items, ...replays];
    } catch (error) {
      // What is taken must not get lost while the ledger cannot be read.
      if (items.length === 0) throw error;
      return items;
    }
  }

  #takeReplays(count: number, bytes: number): Item[] {
    const { ledger, replaying, destinationId } = this.#parts;
    const events = Math.min(count, LANE_REPLAYS_EVENTS_MAX - replaying.size);
    if (events <= 0) return [];
    const replays = ledger.replays(destinationId, replaying, events, bytes);
    this.#replaysWait = replays.length > 0;
    for (const { letter } of replays) replaying.add(letter.id);
    return replays.map(itemOfReplay);
  }
}
