import { assert, InvariantError } from "../../assert.ts";
import type { Connection, Destination } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { Logger } from "../../observe/log.ts";
import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import { type Clock, Notifier } from "../clock.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { EventJob, JobCounts, JobProgress } from "../model/replay-job.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import { RangeLogSet } from "./range-log-set.ts";
import { READY_BYTES_MAX, ReadyEvents } from "./ready-events.ts";
import { ReplayRate } from "./replay-rate.ts";

/** Pause before the next try when the logs cannot be read, or not as far as they were. */
const FAILURE_MS = 1_000;

export interface EventReplayParts {
  job: EventJob;
  /** Has a cache of its own, so that replays do not evict what live events share. */
  logs: LogSet;
  clock: Clock;
  logger: Logger;
  destination: Destination;
  /** Maximum number of replayed events in flight to the destination. */
  inFlightMax: number;
  /** Ends of the job's events in the delivery before a crash; they come before all others. */
  recovered: Positions | undefined;
  /** Called when there is something to take. */
  onReady(): void;
  /** Called when all events were read: once all have settled too, the job is done. */
  onRead(): void;
  /** Stops the lane after a broken invariant. */
  fail(error: unknown): void;
}

/**
 * One replay of a range of the log: reads ahead of its lane, and releases events at the job's rate.
 * It has cursors like the lane's own, which are stored with the events that settled.
 */
export class EventReplay {
  readonly #parts: EventReplayParts;
  readonly #range: RangeLogSet;
  readonly #reader: LaneReader;
  readonly #ready = new ReadyEvents();
  /** Notifies when there is room to read more. */
  readonly #room = new Notifier();
  /** Notifies when something was read, or nothing is left to read. */
  readonly #read = new Notifier();
  /** Notifies when the replay stops. */
  readonly #stopping = new Notifier();
  #isRecovering: boolean;
  #isRead = false;
  #isStopped = false;
  /** Whether the job has ended: then the log need not be kept for it. */
  #isEnded = false;
  #inFlight = 0;
  readonly #rate: ReplayRate;
  #isWaking = false;
  #counts: JobCounts;
  #reachedAt: number | undefined;
  /** The last progress, which shows whether it has changed. */
  #lastProgress = "";

  constructor(parts: EventReplayParts) {
    this.#parts = parts;
    const { job, recovered, logs, clock } = parts;
    this.#range = new RangeLogSet({ job, logs, clock, stopping: this.#stopping }, recovered);
    this.#isRecovering = recovered !== undefined;
    this.#reader = new LaneReader(this.#range, replayRoutes(parts), replayRecord(job));
    this.#rate = new ReplayRate(clock);
    this.#counts = { ...job.counts };
    this.#reachedAt = job.reachedAt;
    this.#startReading();
  }

  get job(): EventJob {
    return this.#parts.job;
  }

  get isRunning(): boolean {
    return !this.#isEnded;
  }

  /** Whether the job has ended, and none of its events is in flight. */
  get isOver(): boolean {
    return this.#isEnded && this.#inFlight === 0;
  }

  /** Whether an event may be taken now; otherwise `onReady` is called when one may be. */
  get isDue(): boolean {
    return this.#due() > 0;
  }

  /** Takes up to `count` events, or about `bytes` bytes. */
  take(count: number, bytes: number): LaneEvent[] {
    const due = Math.min(count, this.#due());
    const events = this.#shift(due, bytes);
    this.#rate.spend(events.length);
    return events;
  }

  /** Takes events of the recovered delivery; none when all of them were taken. */
  async takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    while (this.#isRecovering && this.#ready.length === 0 && !this.#isRead) await this.#read.wait();
    return this.#isRecovering ? this.#shift(count, bytes) : [];
  }

  /** Takes all events from now on: the recovered delivery is complete. */
  endRecovery(): void {
    if (!this.#isRecovering) return;
    this.#isRecovering = false;
    this.#range.endRecovery();
    this.#isRead = false;
    this.#startReading();
  }

  /** Counts a settled event; it is in the next progress. */
  settle(log: string, sequence: number, outcome: keyof JobCounts): void {
    this.#reader.settle(log, sequence);
    this.#counts[outcome] += 1;
    const wasFull = this.#inFlight >= this.#parts.inFlightMax;
    this.#inFlight -= 1;
    assert(this.#inFlight >= 0, "A replay settles no more events than it released");
    if (wasFull) this.#parts.onReady();
  }

  /** The progress; undefined when nothing has changed since the last call. */
  progress(): JobProgress | undefined {
    const { id, workspaceId } = this.job;
    const { logs } = this.#reader.record();
    const reached = this.#reachedAt;
    const missing = this.#range.missingBefore;
    const progress: JobProgress = { id, workspaceId, logs, counts: { ...this.#counts } };
    if (reached !== undefined) progress.reachedAt = reached;
    if (missing !== undefined) progress.missingBefore = missing;
    if (this.#isDone(logs)) progress.doneAt = this.#parts.clock.now();
    // A record is taken or settles only with a change of these.
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

  /** See `LaneReader.committed`. */
  committed(lows: ReadonlyMap<string, number>): void {
    this.#reader.committed(lows);
  }

  /** The oldest record that the replay would need after a restart; undefined when it needs none. */
  durableLow(log: string): number | undefined {
    return this.#isEnded ? undefined : this.#reader.durableLow(log);
  }

  /** Ends the replay of a job that was ended, or is done. */
  end(): void {
    this.#isEnded = true;
    this.stop();
  }

  /** Stops reading; no more events can be taken. */
  stop(): void {
    this.#isStopped = true;
    this.#stopping.notify();
    this.#room.notify();
    this.#read.notify();
  }

  #startReading(): void {
    this.#readAhead().catch((error) => this.#parts.fail(error));
  }

  async #readAhead(): Promise<void> {
    while (!this.#isStopped && !this.#isRead) {
      if (this.#ready.isFull) {
        await this.#room.wait();
        continue;
      }
      const events = await this.#tryRead();
      if (events.length === 0 && !this.#isRead) {
        await this.#parts.clock.sleep(FAILURE_MS, this.#stopping);
        continue;
      }
      if (this.#isStopped) return;
      for (const event of events) this.#push(event);
      this.#read.notify();
      this.#parts.onReady();
    }
    if (this.#isRead) this.#parts.onRead();
  }

  /** Reads events; sets `#isRead` at the end of the range. Empty also when the read failed. */
  async #tryRead(): Promise<LaneEvent[]> {
    try {
      const events = await this.#reader.take(TRANSFORM_BATCH_EVENTS_MAX, READY_BYTES_MAX);
      if (events.length > 0) return events;
      const isPassed = this.#isRecovering || this.#isAtEnd(this.#reader.record().logs);
      this.#isRead = isPassed && this.#range.isWhole;
      return events;
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      const { id, destinationId } = this.job;
      const fields = { replayId: id, destinationId, err: error };
      this.#parts.logger.error(fields, "replay cannot read the event log");
      return [];
    }
  }

  #push(event: LaneEvent): void {
    const { origin } = event;
    assert("log" in origin, "A replayed event comes from the log");
    const { log, sequence } = origin;
    this.#ready.push({ ...event, origin: { replayId: this.job.id, log, sequence } });
  }

  #shift(count: number, bytesMax: number): LaneEvent[] {
    const events = this.#ready.shift(count, bytesMax);
    const last = events.at(-1);
    if (last === undefined) return events;
    // The retry window of a replayed event begins when it is taken.
    const now = this.#parts.clock.now();
    for (const event of events) event.retryWindowStart = now;
    this.#inFlight += events.length;
    this.#reachedAt = last.input.receivedAt;
    this.#room.notify();
    return events;
  }

  /** Number of events that may be taken now. */
  #due(): number {
    const { inFlightMax } = this.#parts;
    const waiting = Math.min(this.#ready.length, inFlightMax - this.#inFlight);
    if (this.#isStopped || this.#isRecovering || waiting <= 0) return 0;
    const { count, waitMs } = this.#rate.due(waiting, this.#eventsPerSecond());
    if (count === 0) this.#wakeIn(waitMs);
    return count;
  }

  /** The part of the job's rate for the logs that are read here. */
  #eventsPerSecond(): number {
    const all = Math.max(1, Object.keys(this.job.ends).length);
    return (this.job.rate * Math.max(1, this.#range.names().length)) / all;
  }

  #wakeIn(ms: number): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    void this.#parts.clock.sleep(Math.ceil(ms), this.#stopping).then(() => {
      this.#isWaking = false;
      if (!this.#isStopped) this.#parts.onReady();
    });
  }

  /** Whether all logs of this partition were read to the end; other partitions read the others. */
  #isAtEnd(logs: EventJob["logs"]): boolean {
    const { ends } = this.job;
    return this.#range.names().every((log) => (logs[log]?.next ?? 0) >= (ends[log] ?? 0));
  }

  #isDone(logs: EventJob["logs"]): boolean {
    if (!this.#isRead || this.#isRecovering || this.#isStopped) return false;
    return this.#isAtEnd(logs) && Object.values(logs).every(({ pending }) => pending.length === 0);
  }
}

/** Routes from the job's sources to its destination, as if they had always been connected. */
function replayRoutes({ job, destination }: EventReplayParts) {
  const connection = (sourceId: string): Connection => ({
    id: job.id,
    workspaceId: job.workspaceId,
    sourceId,
    destinationId: job.destinationId,
    enabled: true,
    from: {},
    createdAt: 0,
    updatedAt: 0,
  });
  return { destination, bySource: new Map(job.sources.map((id) => [id, connection(id)])) };
}

function replayRecord({ id, logs }: EventJob) {
  return { logs, known: { [id]: {} } };
}
