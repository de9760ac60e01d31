import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import type { Clock, Notifier } from "../clock.ts";
import { createRequeuedEvent } from "../dead-letters/letter-events.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LaneBudget } from "../memory-budget.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";

/** Shortest time between two batches of a lane that is at the end of the log. */
const BATCH_INTERVAL_MS_MIN = 10;

/** Fraction of a batch that is for replays while more live events wait than the batch holds. */
const REPLAYS_FRACTION = 0.1;

export interface BatchSchedulerParts {
  destinationId: string;
  reader: Pick<LaneReader, "take" | "recovering">;
  memory: LaneBudget;
  metrics: { histories: Pick<LaneMetrics["histories"], "get"> };
  ledger: Pick<Ledger, "waitingLetters">;
  /** Replays of the log; dead letters that are sent again come from the ledger. */
  replays: Pick<LaneReplays, "isDue" | "take" | "takeRecovered">;
  /** Ids of the dead letters that are in flight again. */
  requeuedIds: Set<string>;
  /** Notifies when there may be something to take, or room for it. */
  work: Notifier;
  clock: Pick<Clock, "now" | "sleep">;
  /** Ends waiting: settings changed, or the lane stops. */
  changed: Notifier;
}

/**
 * Chooses the next batch of a lane: first events that have to run again, then live events, with
 * replays beside them.
 */
export class BatchScheduler {
  readonly #parts: BatchSchedulerParts;
  #hasRequeued: boolean;
  /** Replays that are due, with the fraction of one that small batches leave. */
  #replaysDue = 0;
  /** Events that were taken, in order, and have to run again: their outputs had no room. */
  #unrun: LaneEvent[] = [];
  /** Recent bytes of the outputs of one event. */
  #bytesPerEvent = 0;
  /** Whether the last batch was empty. */
  #wasIdle = false;
  /** When the last batch began that followed an empty one. */
  #batchAt = 0;

  constructor(parts: BatchSchedulerParts) {
    this.#parts = parts;
    const { ledger, destinationId, requeuedIds } = parts;
    this.#hasRequeued = ledger.waitingLetters(destinationId, requeuedIds, 1).length > 0;
  }

  /** Whether events have to run again. */
  get hasUnrun(): boolean {
    return this.#unrun.length > 0;
  }

  /** Notes that the ledger holds requeued dead letters that were not taken yet. */
  noteRequeued(): void {
    this.#hasRequeued = true;
  }

  /** Puts back events whose outputs had no room; they come before all others. */
  putBack(events: readonly LaneEvent[]): void {
    this.#unrun.unshift(...events);
  }

  /** Puts back events that were taken after some whose outputs had no room. */
  putBackLast(events: readonly LaneEvent[]): void {
    this.#unrun.push(...events);
  }

  noteOutputBytes(bytesPerEvent: number): void {
    this.#bytesPerEvent = Math.max(bytesPerEvent, this.#bytesPerEvent / 2);
  }

  /**
   * The next batch; empty when there is nothing to run, or no room for it: then `work` notifies.
   */
  async take(): Promise<LaneEvent[]> {
    if (this.#wasIdle) await this.#waitForMore();
    const events = await this.#take();
    this.#wasIdle = events.length === 0;
    return events;
  }

  /**
   * Waits while single events arrive in quick succession, to take several together: a batch costs
   * the server half a millisecond, whatever its size.
   */
  async #waitForMore(): Promise<void> {
    const { clock, changed } = this.#parts;
    const waitMs = this.#batchAt + BATCH_INTERVAL_MS_MIN - clock.now();
    // The difference is out of bounds when the clock was set back.
    if (waitMs > 0 && waitMs <= BATCH_INTERVAL_MS_MIN) await clock.sleep(waitMs, changed);
    this.#batchAt = clock.now();
  }

  async #take(): Promise<LaneEvent[]> {
    const { memory, work } = this.#parts;
    const { room } = memory;
    // The number of events whose outputs will have room, judged by the recent outputs.
    const fitting = Math.ceil(room.bytes / Math.max(1, this.#bytesPerEvent));
    const count = Math.max(1, Math.min(fitting, TRANSFORM_BATCH_EVENTS_MAX));
    const [first] = this.#unrun;
    const mayTake = first === undefined ? room.events > 0 : memory.canDispatch(first);
    if (!mayTake) {
      memory.wait(work);
      return [];
    }
    if (first !== undefined) return this.#unrun.splice(0, count);
    return await this.#takeNew(Math.min(room.events, count), room.bytes);
  }

  /**
   * Takes new events. Replays fill what live events leave of a batch, and have a small fraction at
   * least: of each batch, or of several batches where a batch is a few events.
   */
  async #takeNew(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, memory } = this.#parts;
    const reserved = this.#reservedForReplays(count);
    if (reserved === count && reader.recovering === undefined) {
      const replays = this.#takeReplays(count, bytes);
      if (replays.length > 0) return replays;
    }
    const live = await reader.take(Math.max(1, count - reserved), bytes);
    const { clock, metrics, destinationId } = this.#parts;
    const history = metrics.histories.get(destinationId);
    const now = clock.now();
    for (const event of live) {
      memory.take(event);
      history.recordReceived(event.input.sourceId, now);
    }
    const left = memory.room;
    const room = Math.min(count - live.length, left.events);
    try {
      const isRecovering = reader.recovering !== undefined;
      const replays = isRecovering
        ? await this.#takeRecovered(room, left.bytes)
        : this.#takeReplays(room, left.bytes);
      return [...live, ...replays];
    } catch (error) {
      // Live events that were taken must not be lost because the ledger cannot be read.
      if (live.length === 0) throw error;
      return live;
    }
  }

  #reservedForReplays(count: number): number {
    if (!this.#hasRequeued && !this.#parts.replays.isDue) return 0;
    this.#replaysDue += count * REPLAYS_FRACTION;
    const reserved = Math.min(count, Math.floor(this.#replaysDue));
    this.#replaysDue -= reserved;
    return reserved;
  }

  #takeReplays(count: number, bytes: number): LaneEvent[] {
    const { replays, memory } = this.#parts;
    const requeued = this.#takeRequeued(count, bytes);
    const left = bytes - requeued.reduce((sum, event) => sum + event.bytes, 0);
    const events = replays.take(count - requeued.length, left);
    for (const event of events) memory.take(event);
    return [...requeued, ...events];
  }

  /** Takes replays that were in the delivery before a crash. */
  async #takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, replays, memory } = this.#parts;
    const last = reader.recovering?.letter;
    const requeued = last === undefined ? [] : this.#takeRequeued(count, bytes, last);
    if (requeued.length > 0) return requeued;
    const events = await replays.takeRecovered(count, bytes);
    for (const event of events) memory.take(event);
    return events;
  }

  /** Takes dead letters that are to be sent again, up to the letter `last`. */
  #takeRequeued(count: number, bytes: number, last?: string): LaneEvent[] {
    if (!this.#hasRequeued) return [];
    const { ledger, requeuedIds, destinationId, memory } = this.#parts;
    const events = Math.min(count, LANE_REPLAYS_EVENTS_MAX - requeuedIds.size);
    if (events <= 0) return [];
    const bounds = { charsMax: bytes, last };
    const letters = ledger.waitingLetters(destinationId, requeuedIds, events, bounds);
    this.#hasRequeued = letters.length > 0;
    for (const { letter } of letters) requeuedIds.add(letter.id);
    const requeued = letters.map(createRequeuedEvent);
    for (const event of requeued) memory.take(event);
    return requeued;
  }
}
