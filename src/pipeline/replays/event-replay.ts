import { assert, InvariantError } from "../../assert.ts";
import type { Destination } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { Logger } from "../../observe/log.ts";
import { type Clock, Notifier } from "../clock.ts";
import { addFailures, jobFailureOf } from "../ledger/job-failures.ts";
import { TRANSFORM_BATCH_EVENTS } from "../limits.ts";
import type { NewLetter } from "../model/dead-letter.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { EventJob, JobCounts, JobFailure, JobProgress } from "../model/replay-job.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import { createRangeLogSet, replayRecord, replayRoutes } from "./range-log-set.ts";
import { READY_BYTES_MAX, ReadyEvents } from "./ready-events.ts";
import { ReplayRate } from "./replay-rate.ts";

/** Pause in milliseconds before the next read, after a read that failed or found no events. */
const FAILURE_MS = 1_000;

export interface EventReplayParts {
  job: EventJob;
  /** Event logs that the replay reads, with a cache of decoded records that all replays share. */
  logs: LogSet;
  clock: Clock;
  logger: Logger;
  destination: Destination;
  /** Maximum number of taken events of this replay that have no final outcome yet. */
  inFlightMax: number;
  /**
   * Log → end (exclusive) of the events whose delivery a crash or a normal stop interrupted. Events
   * before this end without a final outcome are sent first. The field is undefined when no delivery
   * was interrupted.
   */
  recovered: Positions | undefined;
  /** Notifies the delivery that `take` may return events that it could not return before. */
  onReady(): void;
  /** Schedules a write of the progress, after the range or its recovered part was read. */
  onRead(): void;
  /** Stops all delivery to the destination, also of live events, after an error due to a bug. */
  fail(error: unknown): void;
}

/**
 * Replays a range of the event log to one destination, at the job's rate. The read positions and
 * the outcomes of the events are stored together, so that they agree after a crash.
 */
export class EventReplay {
  readonly #range;
  readonly #reader: LaneReader;
  readonly #ready = new ReadyEvents();
  /**
   * Wakes two waiting functions: `#readAhead` when the buffer has room for more events, and
   * `takeRecovered` when events were read or reading has stopped.
   */
  readonly #changed = new Notifier();
  /** Ends the pauses of this replay, between reads and between events, when the replay stops. */
  readonly #stopping = new Notifier();
  #isRecovering: boolean;
  #isRead = false;
  #isStopped = false;
  /** Whether the job has ended and therefore needs no more records of the log. */
  #isEnded = false;
  #inFlight = 0;
  readonly #rate: ReplayRate;
  #isWaking = false;
  #counts: JobCounts;
  #failures: JobFailure[];
  #reachedAt: number | undefined;
  /** JSON by which `progress` recognizes that nothing has changed since its last result. */
  #lastProgress = "";

  constructor(private readonly parts: EventReplayParts) {
    const { job, recovered, logs, clock } = parts;
    this.#range = createRangeLogSet({ job, logs, clock, stopping: this.#stopping }, recovered);
    this.#isRecovering = recovered !== undefined;
    this.#reader = new LaneReader(
      this.#range,
      replayRoutes(job, parts.destination),
      replayRecord(job),
    );
    this.#rate = new ReplayRate(clock);
    this.#counts = { ...job.counts };
    this.#failures = job.failures ?? [];
    this.#reachedAt = job.reachedAt;
    this.#startReading();
  }

  get isRunning(): boolean {
    return !this.#isEnded;
  }

  /** Whether the job has ended and all of its events that were taken have a final outcome. */
  get isOver(): boolean {
    return this.#isEnded && this.#inFlight === 0;
  }

  /** Whether `take` would return an event. If false, `onReady` is called when that may change. */
  get isDue(): boolean {
    return this.#due() > 0;
  }

  /** Takes up to `count` events and about `bytes` bytes, and no more than the job's rate allows. */
  take(count: number, bytes: number): LaneEvent[] {
    const due = Math.min(count, this.#due());
    const events = this.#shift(due, bytes);
    this.#rate.spend(events.length);
    return events;
  }

  /** Takes events whose delivery was interrupted, once they are read; none if all were taken. */
  async takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    const isReading = () => !this.#isRead && !this.#isStopped;
    while (this.#isRecovering && this.#ready.length === 0 && isReading())
      await this.#changed.wait();
    return this.#isRecovering ? this.#shift(count, bytes) : [];
  }

  /**
   * Ends the recovery of an interrupted delivery. Call it when `takeRecovered` has returned all
   * events.
   */
  endRecovery(): void {
    if (!this.#isRecovering) return;
    this.#isRecovering = false;
    this.#range.endRecovery();
    this.#isRead = false;
    this.#startReading();
  }

  /** Counts an event's outcome and moves the read position; `progress` then returns both. */
  settle(log: string, sequence: number, outcome: keyof JobCounts, letter?: NewLetter): void {
    this.#reader.settle(log, sequence);
    this.#counts[outcome] += 1;
    if (letter) this.#failures = addFailures(this.#failures, [jobFailureOf(letter)]);
    this.#leaveFlight();
  }

  /** Puts back an event that was taken but not sent, because the destination is disabled. */
  putBack(event: LaneEvent): void {
    this.#ready.putBack(event);
    this.#leaveFlight();
  }

  #leaveFlight(): void {
    const wasFull = this.#inFlight >= this.parts.inFlightMax;
    this.#inFlight -= 1;
    assert(this.#inFlight >= 0, "A replay settles no more events than it released");
    if (wasFull) this.parts.onReady();
  }

  /** Returns the progress to store; undefined if it has not changed since the last call. */
  progress(): JobProgress | undefined {
    const { id, workspaceId } = this.parts.job;
    const { logs } = this.#reader.record();
    const reached = this.#reachedAt;
    const missing = this.#range.missingBefore;
    const progress: JobProgress = { id, workspaceId, logs, counts: { ...this.#counts } };
    if (this.#failures.length > 0) progress.failures = this.#failures;
    if (reached !== undefined) progress.reachedAt = reached;
    if (missing !== undefined) progress.missingBefore = missing;
    if (this.#isDone(logs)) progress.doneAt = this.parts.clock.now();
    // Records are taken or settled only when one of these changes.
    const cursors = Object.values(logs).map(({ next, pending }) => [next, pending.length]);
    const isDone = progress.doneAt !== undefined;
    const text = JSON.stringify([cursors, progress.counts, reached, missing, isDone]);
    if (text === this.#lastProgress) return undefined;
    this.#lastProgress = text;
    return progress;
  }

  lows(): Map<string, number> {
    return this.#reader.lows();
  }

  /** Notes that the read positions are on disk; see `LaneReader.committed`. */
  committed(lows: ReadonlyMap<string, number>): void {
    this.#reader.committed(lows);
  }

  /** Lowest sequence number to read after a restart; undefined if the job has ended. */
  durableLow(log: string): number | undefined {
    return this.#isEnded ? undefined : this.#reader.durableLow(log);
  }

  /** Stops the replay after its job was completed or cancelled. */
  end(): void {
    this.#isEnded = true;
    this.stop();
  }

  /** Stops reading; `take` returns no more events. */
  stop(): void {
    this.#isStopped = true;
    this.#stopping.notify();
    this.#changed.notify();
  }

  #startReading(): void {
    this.#readAhead().catch((error) => this.parts.fail(error));
  }

  async #readAhead(): Promise<void> {
    while (!this.#isStopped && !this.#isRead) {
      if (this.#ready.isFull) {
        await this.#changed.wait();
        continue;
      }
      const events = await this.#tryRead();
      if (events.length === 0 && !this.#isRead) {
        await this.parts.clock.sleep(FAILURE_MS, this.#stopping);
        continue;
      }
      if (this.#isStopped) return;
      for (const event of events) this.#push(event);
      this.#changed.notify();
      this.parts.onReady();
    }
    if (this.#isRead) this.parts.onRead();
  }

  /**
   * Reads the next events. Returns an empty list when there are none or the read failed. Sets
   * `#isRead` when the range was read to its end.
   */
  async #tryRead(): Promise<LaneEvent[]> {
    try {
      const events = await this.#reader.take(TRANSFORM_BATCH_EVENTS, READY_BYTES_MAX);
      if (events.length > 0) return events;
      const isPassed = this.#isRecovering || this.#isAtEnd(this.#reader.record().logs);
      this.#isRead = isPassed && this.#range.isWhole;
      return events;
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      const { id, destinationId } = this.parts.job;
      const fields = { replayId: id, destinationId, err: error };
      this.parts.logger.error(fields, "replay cannot read the event log");
      return [];
    }
  }

  #push(event: LaneEvent): void {
    const { origin } = event;
    assert("log" in origin, "A replayed event comes from the log");
    const { log, sequence } = origin;
    this.#ready.push({ ...event, origin: { replayId: this.parts.job.id, log, sequence } });
  }

  #shift(count: number, bytesMax: number): LaneEvent[] {
    const events = this.#ready.shift(count, bytesMax);
    const last = events.at(-1);
    if (last === undefined) return events;
    // The retry window of a replayed event begins when it is taken.
    const now = this.parts.clock.now();
    for (const event of events) event.retryWindowStart = now;
    this.#inFlight += events.length;
    this.#reachedAt = last.input.receivedAt;
    this.#changed.notify();
    return events;
  }

  /** Number of events that `take` may return at present: limited by the rate and `inFlightMax`. */
  #due(): number {
    const { inFlightMax } = this.parts;
    const waiting = Math.min(this.#ready.length, inFlightMax - this.#inFlight);
    if (this.#isStopped || this.#isRecovering || waiting <= 0) return 0;
    const { count, waitMs } = this.#rate.due(waiting, this.#eventsPerSecond());
    if (count === 0) this.#wakeIn(waitMs);
    return count;
  }

  /**
   * Events per second that this partition may send: the job's rate, times the fraction of the job's
   * logs that belong to this partition.
   */
  #eventsPerSecond(): number {
    const all = Math.max(1, Object.keys(this.parts.job.ends).length);
    return (this.parts.job.rate * Math.max(1, this.#range.names().length)) / all;
  }

  #wakeIn(ms: number): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    void this.parts.clock.sleep(Math.ceil(ms), this.#stopping).then(() => {
      this.#isWaking = false;
      if (!this.#isStopped) this.parts.onReady();
    });
  }

  /** Whether this partition's logs were read to the ends of the job's range. */
  #isAtEnd(logs: EventJob["logs"]): boolean {
    const { ends } = this.parts.job;
    return this.#range.names().every((log) => (logs[log]?.next ?? 0) >= (ends[log] ?? 0));
  }

  #isDone(logs: EventJob["logs"]): boolean {
    if (!this.#isRead || this.#isRecovering || this.#isStopped) return false;
    return this.#isAtEnd(logs) && Object.values(logs).every(({ pending }) => pending.length === 0);
  }
}
