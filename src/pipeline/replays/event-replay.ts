import type { Connection, Destination } from "../../catalog/model.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import type { Positions } from "../../log/positions.ts";
import type { Logger } from "../../observe/log.ts";
import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import { type Clock, Notifier } from "../clock.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { EventJob, JobCounts, JobProgress } from "../model/replay-job.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import { RangeLogSet } from "./range-log-set.ts";

/** Events that are read ahead of a lane, by their number and their bytes. */
const READY_EVENTS_MAX = 2 * TRANSFORM_BATCH_EVENTS_MAX;
const READY_BYTES_MAX = 1 << 20;
/** What a replay did not send in time it may send within this time, on top of its rate. */
const REPLAY_BURST_MS = 100;
/** Pause before the next try when the logs cannot be read, or not as far as they were. */
const FAILURE_MS = 1_000;

export interface EventReplayParts {
  job: EventJob;
  logs: LogSet;
  clock: Clock;
  logger: Logger;
  destination: Destination;
  /** Events that may be on their way to the destination at the same time. */
  inFlightMax: number;
  /** The job's events in a delivery of before a crash, which come before all others. */
  repeated: Positions | undefined;
  /** There is something to take. */
  work(): void;
  /** All was read: if all has settled too, that can be written. */
  wasRead(): void;
}

/**
 * One replay of a part of the log: reads ahead of its lane, and gives what it has read at the job's
 * rate. Its place in the logs is a cursor like the lane's own, which is stored with what settled.
 */
export class EventReplay {
  readonly #parts: EventReplayParts;
  readonly #range: RangeLogSet;
  readonly #reader: LaneReader;
  readonly #ready = new Fifo<LaneEvent>();
  #readyBytes = 0;
  /** Notifies when there is room for more that is read. */
  readonly #room = new Notifier();
  /** Notifies when something was read, or nothing is left to read. */
  readonly #read = new Notifier();
  /** Notifies when the replay stops. */
  readonly #stopping = new Notifier();
  #isRepeating: boolean;
  #isRead = false;
  #isStopped = false;
  /** Whether the job has ended: then the log need not be kept for it. */
  #isEnded = false;
  #inFlight = 0;
  #allowance = 0;
  #allowedAt: number;
  #isWaking = false;
  #counts: JobCounts;
  #reachedAt: number | undefined;
  /** What was stored last, to see whether there is news. */
  #stored = "";

  constructor(parts: EventReplayParts) {
    this.#parts = parts;
    const { job, repeated, logs, clock } = parts;
    this.#range = new RangeLogSet({ job, logs, clock, stopping: this.#stopping }, repeated);
    this.#isRepeating = repeated !== undefined;
    this.#reader = new LaneReader(this.#range, routesOf(parts), recordOf(job));
    this.#allowedAt = clock.elapsed();
    this.#counts = { ...job.counts };
    this.#reachedAt = job.reachedAt;
    void this.#readOn();
  }

  get job(): EventJob {
    return this.#parts.job;
  }

  get isRunning(): boolean {
    return !this.#isEnded;
  }

  /** Whether the job has ended, and nothing of it is on its way. */
  get isOver(): boolean {
    return this.#isEnded && this.#inFlight === 0;
  }

  /** Whether an event may be taken now; when it may be later, the lane will be told. */
  get isDue(): boolean {
    return this.#due() > 0;
  }

  /** Up to `count` events, or about so many bytes. */
  take(count: number, bytes: number): LaneEvent[] {
    const due = Math.min(count, this.#due());
    const items = this.#shift(due, bytes);
    this.#allowance -= items.length;
    return items;
  }

  /** As `take`, of the delivery that is repeated: none when all of it was taken. */
  async takeRepeated(count: number, bytes: number): Promise<LaneEvent[]> {
    while (this.#isRepeating && this.#ready.length === 0 && !this.#isRead) await this.#read.wait();
    return this.#isRepeating ? this.#shift(count, bytes) : [];
  }

  /** The delivery that was repeated is complete. */
  goOn(): void {
    if (!this.#isRepeating) return;
    this.#isRepeating = false;
    this.#range.goOn();
    this.#isRead = false;
    void this.#readOn();
  }

  /** An item has settled, and is in the next progress. */
  settle(log: string, sequence: number, outcome: keyof JobCounts): void {
    this.#reader.settle(log, sequence);
    this.#counts[outcome] += 1;
    const wasFull = this.#inFlight >= this.#parts.inFlightMax;
    this.#inFlight -= 1;
    if (wasFull) this.#parts.work();
  }

  /** What is new since the last call; undefined when nothing is. */
  progress(): JobProgress | undefined {
    const { id, workspaceId } = this.job;
    const { logs } = this.#reader.record();
    const reached = this.#reachedAt;
    const missing = this.#range.missingBefore;
    const progress: JobProgress = {
      ...{ id, workspaceId, logs, counts: { ...this.#counts } },
      ...(reached !== undefined && { reachedAt: reached }),
      ...(missing !== undefined && { missingBefore: missing }),
      ...(this.#isDone(logs) && { doneAt: this.#parts.clock.now() }),
    };
    // A record is taken or settles only with a change of these.
    const places = Object.values(logs).map(({ next, pending }) => [next, pending.length]);
    const isDone = progress.doneAt !== undefined;
    const text = JSON.stringify([places, progress.counts, reached, missing, isDone]);
    if (text === this.#stored) return undefined;
    this.#stored = text;
    return progress;
  }

  lows(): Map<string, number> {
    return this.#reader.lows();
  }

  /** What lay below is on disk, as `LaneReader.kept`. */
  kept(lows: ReadonlyMap<string, number>): void {
    this.#reader.kept(lows);
  }

  /** The oldest record that the replay would need after a restart; undefined when it needs none. */
  durableLow(log: string): number | undefined {
    return this.#isEnded ? undefined : this.#reader.durableLow(log);
  }

  /** The job was ended, or is done. */
  end(): void {
    this.#isEnded = true;
    this.stop();
  }

  /** Nothing more is read or taken. */
  stop(): void {
    this.#isStopped = true;
    this.#stopping.notify();
    this.#room.notify();
    this.#read.notify();
  }

  async #readOn(): Promise<void> {
    while (!this.#isStopped && !this.#isRead) {
      if (this.#ready.length >= READY_EVENTS_MAX || this.#readyBytes >= READY_BYTES_MAX) {
        await this.#room.wait();
        continue;
      }
      const items = await this.#tryRead();
      if (items.length === 0 && !this.#isRead) {
        await this.#parts.clock.sleep(FAILURE_MS, this.#stopping);
        continue;
      }
      if (this.#isStopped) return;
      for (const item of items) this.#push(item);
      this.#read.notify();
      this.#parts.work();
    }
    if (this.#isRead) this.#parts.wasRead();
  }

  /** Nothing, and `isRead`, at the end; nothing alone when there must be more. */
  async #tryRead(): Promise<LaneEvent[]> {
    try {
      const items = await this.#reader.take(TRANSFORM_BATCH_EVENTS_MAX, READY_BYTES_MAX);
      if (items.length > 0) return items;
      const isPassed = this.#isRepeating || this.#isAtEnd(this.#reader.record().logs);
      this.#isRead = isPassed && this.#range.isWhole;
      return items;
    } catch (error) {
      const { id, destinationId } = this.job;
      const about = { replayId: id, destinationId, err: error };
      this.#parts.logger.error(about, "A replay cannot read the event log");
      return [];
    }
  }

  #push(item: LaneEvent): void {
    const { log, sequence } = item.origin as { log: string; sequence: number };
    const replayId = this.job.id;
    this.#ready.push({ ...item, origin: { replayId, log, sequence } });
    this.#readyBytes += item.bytes;
  }

  #shift(count: number, bytesMax: number): LaneEvent[] {
    const items: LaneEvent[] = [];
    let bytes = 0;
    // The time that a replayed event is retried begins when it is taken.
    const now = this.#parts.clock.now();
    while (items.length < count && this.#ready.length > 0 && bytes < bytesMax) {
      const item = this.#ready.shift()!;
      item.bornAt = now;
      items.push(item);
      bytes += item.bytes;
    }
    this.#readyBytes -= bytes;
    this.#inFlight += items.length;
    if (items.length > 0) {
      this.#reachedAt = items.at(-1)!.input.receivedAt;
      this.#room.notify();
    }
    return items;
  }

  /** How many events may be taken now. */
  #due(): number {
    const { inFlightMax } = this.#parts;
    const waiting = Math.min(this.#ready.length, inFlightMax - this.#inFlight);
    if (this.#isStopped || this.#isRepeating || waiting <= 0) return 0;
    const rate = this.#rate();
    const burst = Math.max(1, (rate * REPLAY_BURST_MS) / 1_000);
    const now = this.#parts.clock.elapsed();
    const earned = ((now - this.#allowedAt) * rate) / 1_000;
    this.#allowance = Math.min(burst, this.#allowance + earned);
    this.#allowedAt = now;
    // Few at a time would cost a round each.
    const lot = Math.min(waiting, TRANSFORM_BATCH_EVENTS_MAX, Math.floor(burst));
    if (this.#allowance >= lot) return Math.min(waiting, Math.floor(this.#allowance));
    this.#wakeIn(((lot - this.#allowance) * 1_000) / rate);
    return 0;
  }

  /** Of the job's rate, what falls to the logs that are read here. */
  #rate(): number {
    const all = Math.max(1, Object.keys(this.job.ends).length);
    return (this.job.rate * Math.max(1, this.#range.names().length)) / all;
  }

  #wakeIn(ms: number): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    void this.#parts.clock.sleep(Math.ceil(ms), this.#stopping).then(() => {
      this.#isWaking = false;
      if (!this.#isStopped) this.#parts.work();
    });
  }

  /** Of the logs that are read here: others are read by those who write their ledgers. */
  #isAtEnd(logs: EventJob["logs"]): boolean {
    const { ends } = this.job;
    return this.#range.names().every((log) => (logs[log]?.next ?? 0) >= (ends[log] ?? 0));
  }

  #isDone(logs: EventJob["logs"]): boolean {
    if (!this.#isRead || this.#isRepeating || this.#isStopped) return false;
    return this.#isAtEnd(logs) && Object.values(logs).every(({ pending }) => pending.length === 0);
  }
}

/** The sources' connections to the destination, as if they had always been there. */
function routesOf({ job, destination }: EventReplayParts) {
  const connection = (sourceId: string): Connection => ({
    ...{ id: job.id, workspaceId: job.workspaceId, sourceId, destinationId: job.destinationId },
    ...{ enabled: true, from: {}, createdAt: 0, updatedAt: 0 },
  });
  return { destination, bySource: new Map(job.sources.map((id) => [id, connection(id)])) };
}

function recordOf({ id, logs }: EventJob) {
  return { logs, known: { [id]: {} } };
}
