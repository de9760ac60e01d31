import type { Admin } from "@platformatic/kafka";
import { ApiError } from "../../errors.ts";
import type { BrokerSettings, KafkaClients } from "../../kafka/client.ts";
import { BLOCK_RECORDS_MAX } from "../../log/block.ts";
import type { DurableRange, EventLogs, LogReader } from "../../log/event-log.ts";
import { LossReport } from "../../log/loss-report.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { ensureTopic, type TopicSettings } from "../topics/ensure-topic.ts";
import { FetchPace } from "../topics/fetch-pace.ts";
import { Fetcher } from "../topics/fetcher.ts";
import {
  type OffsetBase,
  OffsetBases,
  type PartitionLoss,
  type TopicEnd,
} from "../topics/offset-base.ts";
import { TopicRecreated } from "../topics/topic-identity.ts";
import { AnswerHealth, describeUnanswered } from "./answer-health.ts";
import { describeBlockLoss } from "./block-loss.ts";
import { PartitionReader } from "./partition-reader.ts";
import { PartitionTail } from "./partition-tail.ts";
import type { PartitionedLogSettings } from "./partitioned-log.ts";
import { offsetOf, sequenceOf } from "./sequence.ts";

export interface PartitionLogsOptions {
  clients: KafkaClients;
  /** Addresses and credentials with which ingest processes connect to the Kafka brokers. */
  brokers: BrokerSettings;
  topic: TopicSettings;
  /** Returns the id of the source that sent the event in a stored record. */
  sourceOf(record: Uint8Array): string | undefined;
  logger: Logger;
  metrics?: Metrics;
}

/** Maximum milliseconds for which a broker delays a fetch response that has no new block. */
const TAIL_WAIT_MS = 500;
/** Maximum compressed bytes (about 1/15 of the original) of one partition's blocks in a fetch. */
const WINDOW_BYTES = 64 << 10;
/** Pause in milliseconds between two requests for the end offsets of all partitions. */
const ENDS_MS = 1_000;
/**
 * Maximum bytes of blocks that the readers of all partitions cache in memory together. Each reader
 * may cache an equal share of this number, but at least `CACHE_BYTES_MIN`.
 */
const CACHE_BYTES_MAX = 64 << 20;
const CACHE_BYTES_MIN = 2 << 20;

/** Returns the name of a partition's event log. Logs of a standalone server have other names. */
export const logNameOf = (partition: number) => `k${partition}`;

/**
 * Opens the partitions of a topic as event logs. Creates the topic if it is missing. Throws
 * `StartError` when the topic cannot be created, or has settings with which events could be lost.
 */
export async function openPartitionLogs(options: PartitionLogsOptions): Promise<PartitionLogs> {
  const admin = options.clients.admin();
  await ensureTopic(admin, options.topic);
  const logs = new PartitionLogs(options, admin);
  await logs.learnEnds();
  logs.watch();
  return logs;
}

/** Event logs of a topic: one log per partition, under the name that `logNameOf` returns. */
export class PartitionLogs implements EventLogs {
  readonly readers = new Map<string, LogReader>();
  readonly #partitions: PartitionReader[] = [];
  readonly #losses: LossReport;
  readonly #listeners = new Set<(news?: DurableRange) => void>();
  readonly #asker: Fetcher;
  readonly #tail: PartitionTail;
  readonly #placement = new OffsetBases();
  readonly #health: AnswerHealth;
  readonly #moveListeners = new Set<(logs: string[]) => void>();
  #poll: ReturnType<typeof setTimeout> | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isOpen = true;

  constructor(
    private readonly options: PartitionLogsOptions,
    private readonly admin: Admin,
  ) {
    const { clients, topic, sourceOf, logger } = options;
    this.#losses = new LossReport({ ...options, describe: describeBlockLoss(topic.name) });
    this.#health = new AnswerHealth({ topic: topic.name, logger });
    const of = { topic: topic.name, offsetBases: this.#placement, windowBytes: WINDOW_BYTES };
    const fetcher = (more: { waitMs: number; pace?: FetchPace }) =>
      new Fetcher({ ...of, ...more, consumer: clients.fetchConsumer() });
    this.#asker = fetcher({ waitMs: 0 });
    this.#tail = new PartitionTail({
      fetcher: fetcher({ waitMs: TAIL_WAIT_MS, pace: new FetchPace() }),
      sourceOf,
      logger,
      nameOf: logNameOf,
      onNews: (news) => {
        for (const listener of this.#listeners) listener(news);
      },
    });
  }

  async ends(): Promise<Readonly<Record<string, number>>> {
    const { ends, failures } = await this.learnEnds().catch(() => {
      throw new ApiError("unavailable", UNKNOWN_ENDS);
    });
    if (failures.size === 0) return ends;
    throw new ApiError("unavailable", `${UNKNOWN_ENDS}: ${describeUnanswered(failures)}`);
  }

  /**
   * Reads the end of each log (one per partition) from the brokers, by log name. Rejects when the
   * topic is unknown or was recreated.
   * - If a partition's leader does not answer within `msMax` milliseconds, leaves out the log;
   *   `failures` has the error, by partition number.
   * - Opens the logs of new partitions.
   * - Tells the listeners of `onOffsetsInvalid` which logs have invalid offsets.
   */
  async learnEnds(msMax?: number) {
    const read = this.#partitions.map((reader) => offsetOf(reader.end()));
    const { topicId, offsets, failures } = await this.#asker.brokerOffsets("end", msMax);
    if (offsets.size + failures.size > this.#partitions.length) await this.#grow(msMax);
    const known = new Map<number, bigint>();
    for (const [it, offset] of offsets) known.set(it, offset + this.#placement.base(it));
    this.#reportInvalidOffsets(topicId, known, read);
    const ends: Record<string, number> = {};
    for (const [partition, end] of known) {
      ends[logNameOf(partition)] = sequenceOf(end);
      // The tail advances a followed partition, because it also notifies the listeners.
      if (this.#tail.follows(partition)) continue;
      this.#partitions[partition]?.advance(sequenceOf(end));
    }
    return { ends, failures };
  }

  /**
   * Calls the listeners of `onOffsetsInvalid` with the names of these logs:
   * - Logs whose end on the brokers (`ends`) is before the end known to this node (`read`).
   * - Logs with an offset base for another topic id than `topicId`. If there are any, throws
   *   `TopicRecreated` after the calls.
   */
  #reportInvalidOffsets(topicId: string, ends: Map<number, bigint>, read: bigint[]): void {
    const others = [...this.#partitions.keys()].filter((it) => {
      return !this.#placement.isOfTopic(it, topicId);
    });
    const cut = read.flatMap((end, it) => ((ends.get(it) ?? end) < end ? [it] : []));
    for (const it of cut) this.#partitions[it]!.reset(this.#placement.base(it), ends.get(it)!);
    const moved = new Set([...others, ...cut]);
    if (moved.size > 0) for (const tell of this.#moveListeners) tell([...moved].map(logNameOf));
    if (others.length > 0) throw new TopicRecreated(this.options.topic.name);
  }

  onDurable(listener: (news?: DurableRange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Fetches new blocks of a log once they are durable, and reports them to the listeners of
   * `onDurable`. Ends when the returned function is called. For other logs, this node only reads
   * the end, about once a second.
   */
  follow(log: string): () => void {
    const partition = this.#indexOf(log);
    return this.#tail.follow(partition, this.#partitions[partition]!);
  }

  /**
   * Follows the new blocks of a log whose events this node delivers, and reports blocks that are
   * missing from the log as lost. The returned function ends both.
   */
  acquire(log: string): () => void {
    const reader = this.#partitions[this.#indexOf(log)]!;
    reader.setOwned(true);
    const unfollow = this.follow(log);
    return () => {
      reader.setOwned(false);
      unfollow();
    };
  }

  /**
   * Reads the topic's id and a log's end offset from the brokers. `known` is the highest sequence
   * number that is stored for the log. The result contains `known` as an offset, rounded up. If
   * this offset is above `end` plus the log's offset base, the topic has lost blocks.
   */
  async topicEnd(log: string, known: number): Promise<TopicEnd> {
    const { topicId, offset } = await this.#asker.endOffsetOfOneTopic(this.#indexOf(log));
    return {
      topic: topicId,
      end: Number(offset),
      known: Number(offsetOf(known + BLOCK_RECORDS_MAX - 1)),
    };
  }

  /**
   * Sets a log's offset base, the number that is added to the brokers' offsets. Blocks before
   * `end`, an offset of the brokers, do not count as new. A loss of blocks (`lost`) is logged and
   * added to `warnings`.
   */
  setOffsetBase(log: string, place: OffsetBase, end = 0, lost?: PartitionLoss): void {
    const partition = this.#indexOf(log);
    const base = BigInt(place.base);
    const isMoved = this.#placement.base(partition) !== base;
    this.#placement.set(partition, place);
    if (isMoved) this.#partitions[partition]!.reset(base, base);
    this.#partitions[partition]!.advance(sequenceOf(base + BigInt(end)));
    if (lost === undefined) return;
    const { logger, topic } = this.options;
    logger.error({ log, topic: topic.name }, `partition of the event log ${lost.how}`);
    const at = sequenceOf(base);
    this.#losses.missing(log, { from: at - 1, to: at }, lost.blocks);
  }

  /**
   * Adds a listener that is called with the names of logs whose offsets have become invalid,
   * because the topic was recreated or lost the log's newest blocks.
   */
  onOffsetsInvalid(listener: (logs: string[]) => void): void {
    this.#moveListeners.add(listener);
  }

  /** Returns settings with which an ingest process appends to the partitions of these logs. */
  settings(): { kind: "partitions"; settings: PartitionedLogSettings } {
    const { brokers, topic } = this.options;
    const settings = { brokers, topic: topic.name, partitions: this.#partitions.length };
    return { kind: "partitions", settings };
  }

  warnings(): string[] {
    return this.#losses.warnings();
  }

  /** Returns a sentence about partitions that cannot be read, or `undefined` if all can be. */
  trouble(): string | undefined {
    return this.#health.trouble() ?? this.#tail.trouble();
  }

  /** Returns whether this node follows a log and cannot read it at the moment. */
  isFailing = (log: string): boolean => this.#tail.isFailing(this.#indexOf(log));

  /** Reads the ends of all logs every `ENDS_MS`. Opens partitions that were added to the topic. */
  watch(): void {
    this.#poll = setTimeout(() => {
      this.#polling = this.#look().then(() => {
        if (this.#isOpen) this.watch();
      });
    }, ENDS_MS);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    clearTimeout(this.#poll);
    await Promise.all([this.#polling, this.#tail.close()]);
    await Promise.all(this.#partitions.map((reader) => reader.close()));
  }

  async #look(): Promise<void> {
    try {
      const { failures } = await this.learnEnds();
      this.#health.noteAnswers(failures);
    } catch (error) {
      this.#health.failed(error);
    }
  }

  /** Opens the partitions of the topic that are not open yet, after partitions were added to it. */
  async #grow(msMax?: number): Promise<void> {
    const { offsets: firsts, failures } = await this.#asker.brokerOffsets("first", msMax);
    const count = firsts.size + failures.size;
    const { name, partitions } = this.options.topic;
    const share = Math.floor(CACHE_BYTES_MAX / Math.max(partitions, count));
    for (let partition = this.#partitions.length; partition < count; partition++) {
      const reader = new PartitionReader({
        partition,
        name: logNameOf(partition),
        first: firsts.get(partition),
        fetcher: this.#asker,
        losses: this.#losses,
        cacheBytesMax: Math.max(CACHE_BYTES_MIN, share),
        trim: async (offset) => {
          const partitions = [{ partition, offset: offset - this.#placement.base(partition) }];
          await this.admin.deleteRecords({ topics: [{ name, partitions }] });
        },
      });
      this.#partitions.push(reader);
      this.readers.set(logNameOf(partition), reader);
    }
  }

  #indexOf(log: string): number {
    const partition = this.#partitions.findIndex((_, index) => logNameOf(index) === log);
    if (partition < 0) throw new RangeError(`Expected the name of a partition's log, got ${log}`);
    return partition;
  }
}

const UNKNOWN_ENDS = "Where the event log ends cannot be known at the moment";
