import type { LiveProgram } from "../../catalog/live.ts";
import { RateMeter } from "../../concurrency/rate-meter.ts";
import type { Clock, Notifier } from "../clock.ts";
import { createRequeuedEvent } from "../dead-letters/letter-events.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import { forEachSource, type LaneEvent } from "../model/lane-event.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";
import { BatchSize } from "./batch-size.ts";
import type { LaneParts } from "./lane-context.ts";

/**
 * Share of each batch that is kept for replayed events, even if new events could fill the batch.
 */
const REPLAYS_FRACTION = 0.1;
/**
 * Largest number of events in a batch for a destination without user code. A batch costs 50 µs
 * besides its events; one of 500 events takes 3 ms of CPU time.
 */
const PLAIN_BATCH_EVENTS_MAX = 500;

interface BatchSchedulerParts extends Pick<LaneParts, "memory" | "work" | "pace"> {
  destinationId: string;
  reader: Pick<LaneReader, "take" | "recovering">;
  /** Returns the user code that runs over the events, if any. */
  program(): LiveProgram | undefined;
  metrics: { histories: Pick<LaneMetrics["histories"], "get"> };
  ledger: { requeued: Pick<Ledger["requeued"], "oldest"> };
  /**
   * The replay jobs, which read events from the log. They do not include requeued dead letters,
   * which come from `ledger` (the store of delivery progress).
   */
  replays: Pick<LaneReplays, "isDue" | "take" | "takeRecovered">;
  /**
   * Ids of the requeued dead letters that this lane (the delivery to one destination) is
   * processing. An id is removed once the ledger has deleted its letter.
   */
  requeuedIds: Set<string>;
  clock: Pick<Clock, "now" | "elapsed" | "sleep">;
  /** Notified when settings change or the delivery stops, which ends a wait for more events. */
  changed: Notifier;
}

/**
 * Chooses the events of a lane's next batch: new events, and a share of replayed events (which a
 * user has asked to send again). If user code must run again over events, the batch has only these
 * events.
 */
export class BatchScheduler {
  #hasRequeued: boolean;
  /**
   * Remainder (below 1) of the number of replayed events for which the last batch kept room. It is
   * added to the number for the next batch, because `REPLAYS_FRACTION` of a small batch is less
   * than one event.
   */
  #replayRemainder = 0;
  /**
   * Events that were taken, but over which user code must run again, for example because their
   * outputs did not fit in memory. They are in the order in which they were taken.
   */
  #unrun: LaneEvent[] = [];
  readonly size = new BatchSize();
  /**
   * Whether the last batch was empty because memory was short. There may then still be events to
   * take.
   */
  lacksMemory = false;
  /** Whether the last batch was empty. */
  #wasIdle = false;
  /** Start, by the clock `elapsed()`, of the latest batch that directly followed an empty batch. */
  #batchAt = 0;
  readonly #taken = new RateMeter();
  /** Time of the last batch with events, by the clock `elapsed()`; -Infinity before the first. */
  #takenAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: BatchSchedulerParts) {
    const { ledger, destinationId, requeuedIds } = parts;
    this.#hasRequeued = ledger.requeued.oldest(destinationId, requeuedIds, 1).length > 0;
  }

  /** Whether there are taken events over which user code must run again. */
  get hasUnrun(): boolean {
    return this.#unrun.length > 0;
  }

  /** Whether no event was taken in the last `ms` milliseconds. */
  hasRested(ms: number): boolean {
    return this.parts.clock.elapsed() - this.#takenAt >= ms;
  }

  /** Records that the ledger may hold requeued dead letters that were not taken yet. */
  noteRequeued(): void {
    this.#hasRequeued = true;
  }

  /**
   * Adds events to the front of the list of events over which user code must run again. The added
   * events must have been taken before the listed ones, because the list keeps the order of taking.
   */
  putBack(events: readonly LaneEvent[]): void {
    this.#unrun.unshift(...events);
  }

  /**
   * Adds events to the end of the list of events over which user code must run again. The added
   * events must have been taken after the listed ones, because the list keeps the order of taking.
   */
  putBackLast(events: readonly LaneEvent[]): void {
    this.#unrun.push(...events);
  }

  /**
   * Takes the events of the next batch. The batch is empty when there are no events, or no memory
   * for their outputs. `work` is notified as soon as there may be events or free memory again.
   */
  async take(): Promise<LaneEvent[]> {
    const { clock, pace } = this.parts;
    if (this.#wasIdle) await this.#waitForMore();
    const events = await this.#take();
    this.#wasIdle = events.length === 0;
    if (events.length > 0) {
      const now = clock.elapsed();
      this.#taken.add(events.length, now);
      this.#takenAt = now;
      pace.noteBatch(now);
    }
    return events;
  }

  /** If there were many events or batches lately, waits for more events to make a larger batch. */
  async #waitForMore(): Promise<void> {
    const { clock, pace, changed } = this.parts;
    const now = clock.elapsed();
    const waitMs = this.#batchAt + pace.intervalMs(this.#taken.perSecond(now), now) - now;
    if (waitMs > 0) await clock.sleep(waitMs, changed);
    this.#batchAt = clock.elapsed();
  }

  async #take(): Promise<LaneEvent[]> {
    const { memory, work } = this.parts;
    const { room } = memory;
    const program = this.parts.program();
    const most = program ? this.size.eventsMax(program) : PLAIN_BATCH_EVENTS_MAX;
    // The number of events whose outputs will fit in memory, judged by recent outputs.
    const fitting = Math.ceil(room.bytes / Math.max(1, this.size.bytesPerEvent));
    const count = Math.max(1, Math.min(fitting, most));
    const [first] = this.#unrun;
    const mayTake = first === undefined ? room.events > 0 : memory.canDispatch(first);
    this.lacksMemory = !mayTake;
    if (!mayTake) {
      memory.wait(work);
      return [];
    }
    if (first !== undefined) return this.#unrun.splice(0, count);
    return await this.#takeNew(Math.min(room.events, count), room.bytes);
  }

  /**
   * Takes up to `count` events over which user code has not run yet: new events first, then
   * replayed ones. If events wait to be replayed, keeps the share `REPLAYS_FRACTION` of the batch
   * for them.
   */
  async #takeNew(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, memory } = this.parts;
    const reserved = this.#reservedForReplays(count);
    if (reserved === count && reader.recovering === undefined) {
      const replays = this.#takeReplays(count, bytes);
      if (replays.length > 0) return replays;
    }
    const live = await reader.take(Math.max(1, count - reserved), bytes);
    const { clock, metrics, destinationId } = this.parts;
    const history = metrics.histories.get(destinationId);
    const now = clock.now();
    memory.take(live);
    forEachSource(
      live,
      ({ input }) => input.sourceId,
      (sourceId, count) => history.recordReceived(sourceId, now, count),
    );
    const left = memory.room;
    const room = Math.min(count - live.length, left.events);
    try {
      const isRecovering = reader.recovering !== undefined;
      const replays = isRecovering
        ? await this.#takeRecovered(room, left.bytes)
        : this.#takeReplays(room, left.bytes);
      return replays.length === 0 ? live : [...live, ...replays];
    } catch (error) {
      // Live events that were taken must not be lost because the ledger cannot be read.
      if (live.length === 0) throw error;
      return live;
    }
  }

  #reservedForReplays(count: number): number {
    if (!this.#hasRequeued && !this.parts.replays.isDue) return 0;
    this.#replayRemainder += count * REPLAYS_FRACTION;
    const reserved = Math.min(count, Math.floor(this.#replayRemainder));
    this.#replayRemainder -= reserved;
    return reserved;
  }

  #takeReplays(count: number, bytes: number): LaneEvent[] {
    const { replays, memory } = this.parts;
    const requeued = this.#takeRequeued(count, bytes);
    const left = bytes - requeued.reduce((sum, event) => sum + event.bytes, 0);
    const events = replays.take(count - requeued.length, left);
    memory.take(events);
    return [...requeued, ...events];
  }

  /**
   * Takes requeued dead letters of the batched delivery that a crash or a normal stop interrupted.
   * If there are none to take, takes replayed events of the same delivery.
   */
  async #takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    const { reader, replays, memory } = this.parts;
    const last = reader.recovering?.letter;
    const requeued = last === undefined ? [] : this.#takeRequeued(count, bytes, last);
    if (requeued.length > 0) return requeued;
    const events = await replays.takeRecovered(count, bytes);
    memory.take(events);
    return events;
  }

  /**
   * Takes the oldest requeued dead letters from the ledger. With `last`, takes only letters with
   * ids up to `last`.
   */
  #takeRequeued(count: number, bytes: number, last?: string): LaneEvent[] {
    if (!this.#hasRequeued) return [];
    const { ledger, requeuedIds, destinationId, memory } = this.parts;
    const events = Math.min(count, LANE_REPLAYS_EVENTS_MAX - requeuedIds.size);
    if (events <= 0) return [];
    const bounds = { charsMax: bytes, last };
    const letters = ledger.requeued.oldest(destinationId, requeuedIds, events, bounds);
    this.#hasRequeued = letters.length > 0;
    for (const { letter } of letters) requeuedIds.add(letter.id);
    const requeued = letters.map(createRequeuedEvent);
    memory.take(requeued);
    return requeued;
  }
}
