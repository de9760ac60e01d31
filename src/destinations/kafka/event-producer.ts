import { backoffMs } from "../../concurrency/backoff.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { ProducerId } from "../../kafka/partition-queue.ts";
import { type PartitionResponse, produce } from "../../kafka/produce.ts";
import type { OutgoingEvent } from "../destination.ts";
import type { BrokerConnections } from "./broker-connections.ts";
import { type KafkaConfig, namesEvent } from "./config.ts";
import {
  type BrokerAddress,
  failureOf,
  isOfTopic,
  KafkaFailure,
  outlookOf,
  sentenceOf,
} from "./failures.ts";
import { KAFKA_TOPICS_MAX } from "./limits.ts";
import { Partition, partitionOf } from "./partition.ts";
import { createRecordEncoder, type KafkaEventRecord, type SendResult } from "./record.ts";
import { TopicMetadata } from "./topic-metadata.ts";

/**
 * Number of consecutive failed rounds of requests after which a delivery fails, to be retried
 * later. In a failed round, brokers neither write nor refuse any batch of records.
 */
const ROUNDS_MAX = 5;
/**
 * Shortest pause in milliseconds between rounds of requests. After each further failed round (see
 * `ROUNDS_MAX`), the pause is doubled.
 */
const PAUSE_MS_MIN = 100;
/**
 * Longest pause in milliseconds between rounds of requests. It is short because brokers elect a new
 * leader of a partition within seconds.
 */
const PAUSE_MS_MAX = 2_000;

/**
 * Writes events to Kafka topics, in order within each partition and without duplicates. A batch
 * whose outcome is unknown after a failed delivery is sent again unchanged, before other batches of
 * its partition.
 */
export class EventProducer {
  readonly #brokers: BrokerConnections;
  readonly #topics: TopicMetadata;
  readonly #recordOf: (event: OutgoingEvent) => KafkaEventRecord;
  readonly #hasTemplate: boolean;
  readonly #compression: "none" | "gzip";
  readonly #partitions = new Map<string, Partition>();
  /**
   * Maps events of failed deliveries to their known outcomes. The next attempt does not write these
   * events again. A delivery fails if the outcome of any event stays unknown.
   */
  readonly #results = new WeakMap<OutgoingEvent, SendResult>();
  #producerId: ProducerId | undefined;
  /**
   * Number of calls of `write` so far. It selects the partition for records without a key: one call
   * writes all such records of a topic to one partition, and the next call to the next partition.
   */
  #turn = 0;

  constructor(brokers: BrokerConnections, config: KafkaConfig) {
    this.#brokers = brokers;
    this.#topics = new TopicMetadata(brokers, config.createTopics ?? false);
    this.#recordOf = createRecordEncoder(config);
    this.#hasTemplate = namesEvent(config.topic);
    this.#compression = config.compression ?? "none";
  }

  /**
   * Writes events and resolves with their outcomes, in the same order. Rejects if any outcome
   * remains unknown. The retry must pass the same `OutgoingEvent` objects, because known outcomes
   * are stored by object.
   */
  async write(events: readonly OutgoingEvent[], signal: AbortSignal): Promise<SendResult[]> {
    const unsettled = this.#unsettled();
    const records = events.map((event) => unsettled.get(event) ?? this.#encode(event));
    const unplaced = records.filter(
      ({ event, result }) => result === undefined && !unsettled.has(event),
    );
    this.#turn += 1;
    try {
      await this.#settle(records, unplaced, signal);
    } catch (error) {
      this.#remember(records);
      throw error;
    } finally {
      this.#remember(unsettled.values());
    }
    return records.map(({ result }) => result!);
  }

  /**
   * Removes the waiting records of all partitions. Returns the records of batches in flight, by
   * event. These records stay queued, and must be sent again because their outcome is unknown.
   */
  #unsettled(): Map<OutgoingEvent, KafkaEventRecord> {
    const unsettled = new Map<OutgoingEvent, KafkaEventRecord>();
    for (const { queue } of this.#partitions.values()) {
      queue.takeWaiting();
      for (const record of queue.batch?.records ?? []) unsettled.set(record.event, record);
    }
    return unsettled;
  }

  #encode(event: OutgoingEvent): KafkaEventRecord {
    const record = this.#recordOf(event);
    record.result = this.#results.get(event);
    if (record.result !== undefined) this.#results.delete(event);
    return record;
  }

  /** Stores the known outcomes of records, so that a retry does not write their events again. */
  #remember(records: Iterable<KafkaEventRecord>): void {
    for (const { event, result } of records) if (result) this.#results.set(event, result);
  }

  /**
   * Sends records to the brokers until all have an outcome. Rejects after `ROUNDS_MAX` failed
   * rounds in a row, or after a failure that will not end within seconds.
   */
  async #settle(
    records: readonly KafkaEventRecord[],
    unplaced: KafkaEventRecord[],
    signal: AbortSignal,
  ) {
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      const { failure, isProgress } = await this.#round(unplaced, signal);
      if (records.every(({ result }) => result !== undefined)) return;
      failures = isProgress ? 0 : failures + 1;
      if (failure === undefined) continue;
      if (failure.outlook !== "soon" || failures >= ROUNDS_MAX) throw failure;
      this.#topics.expireAll();
      const ms = backoffMs(failures, PAUSE_MS_MIN, PAUSE_MS_MAX);
      // A pause that is cut off ends the loop by the signal's own reason.
      await unlessAborted(Bun.sleep(ms), signal).catch(() => {});
    }
  }

  #due(): Partition[] {
    return [...this.#partitions.values()].filter(({ queue }) => !queue.isEmpty);
  }

  /**
   * Runs one round of requests: each broker that leads partitions with queued records gets one
   * batch for each of these partitions.
   */
  async #round(unplaced: KafkaEventRecord[], signal: AbortSignal): Promise<Round> {
    const round: Round = { failure: undefined, isProgress: false };
    try {
      this.#producerId ??= await this.#initProducerId(signal);
      await this.#place(unplaced, round, signal);
      const groups = this.#byLeader(unplaced, this.#producerId, round);
      await Promise.all(
        groups.map(async (partitions) => {
          const { topic, index } = partitions[0]!;
          const leader = this.#topics.leader(topic, index)!;
          await this.#produce(leader, partitions, round, signal).catch((error) => {
            round.failure = failureOf(error);
          });
        }),
      );
    } catch (error) {
      round.failure = failureOf(error);
    }
    return round;
  }

  async #initProducerId(signal: AbortSignal): Promise<ProducerId> {
    const connection = await this.#brokers.connectAny(signal);
    const answer = await connection.exchange("initProducerId", (api, over) =>
      api.async(over, null, 0, -1n, -1),
    );
    return { producerId: answer.producerId, producerEpoch: answer.producerEpoch };
  }

  /** Queues each record in its partition. Refuses a record whose topic can never be used. */
  async #place(unplaced: KafkaEventRecord[], round: Round, signal: AbortSignal): Promise<void> {
    const due = [...this.#due(), ...unplaced];
    const topics = this.#topics.admit(new Set(due.map(({ topic }) => topic)));
    const faults = await this.#topics.refresh(topics, signal);
    for (const record of unplaced.splice(0)) {
      const { topic, key } = record;
      const count = this.#topics.get(topic)?.leaders.length;
      if (count !== undefined) {
        const index = key === undefined ? this.#turn % count : partitionOf(key, count);
        this.#partition(topic, index).queue.push(record);
        continue;
      }
      const code = faults.get(topic);
      const sentence = code === undefined ? tooMany(topic) : sentenceOf(code, topic);
      if (code === undefined || (this.#hasTemplate && this.#topics.isLost(topic, code))) {
        record.result = sentence;
      } else {
        unplaced.push(record);
        round.failure = new KafkaFailure(outlookOf(code), sentence, { code: String(code) });
      }
    }
  }

  #partition(topic: string, index: number): Partition {
    const key = `${topic}:${index}`;
    return this.#partitions.getOrInsertComputed(key, () => new Partition(topic, index));
  }

  /**
   * Returns the partitions with records to send, grouped by leader and by producer id: `current`
   * for a new batch, the earlier id for a repeated one. Moves records of deleted partitions to
   * `unplaced`.
   */
  #byLeader(unplaced: KafkaEventRecord[], current: ProducerId, round: Round): Partition[][] {
    const groups = new Map<string, Partition[]>();
    for (const partition of this.#due()) {
      const { topic, index, queue } = partition;
      const count = this.#topics.get(topic)?.leaders.length;
      const leader = this.#topics.leader(topic, index);
      if (count !== undefined && index >= count) {
        // The topic was recreated with fewer partitions.
        this.#partitions.delete(`${topic}:${index}`);
        unplaced.push(...(queue.batch?.records ?? []), ...queue.waiting);
      } else if (count === undefined && this.#hasTemplate) {
        // The topic was deleted: the next round queues its records again or refuses them.
        if (queue.batch !== undefined) this.#producerId = undefined;
        unplaced.push(...queue.abandon(), ...queue.takeWaiting());
      } else if (leader === undefined) {
        round.failure ??= new KafkaFailure("soon", sentenceOf(NO_LEADER, topic));
      } else {
        const { producerId, producerEpoch } = partition.fill(current).producerId;
        const key = `${leader.host}:${leader.port} ${producerId} ${producerEpoch}`;
        groups.getOrInsert(key, []).push(partition);
      }
    }
    return [...groups.values()];
  }

  /** Sends a broker one batch for each partition in `partitions`, and applies the responses. */
  async #produce(
    leader: BrokerAddress,
    partitions: Partition[],
    round: Round,
    signal: AbortSignal,
  ) {
    const connection = await this.#brokers.connect(leader, signal);
    const batches = partitions.map(({ topic, index, queue }) => {
      const { records: messages, sequence } = queue.batch!;
      return { topic, partition: index, sequence, messages };
    });
    const request = {
      producerId: partitions[0]!.queue.batch!.producerId,
      batches,
      compression: this.#compression,
      // A broker that waits for its replicas responds before the connection is given up.
      waitMs: Math.floor(this.#brokers.stepMs / 2),
    };
    const responses = await connection.exchange("produce", (api, over) =>
      produce(connection.kafka, api, over, request),
    );
    const byPartition = new Map(responses.map((it) => [`${it.topic}:${it.index}`, it]));
    for (const partition of partitions) {
      this.#take(partition, byPartition.get(`${partition.topic}:${partition.index}`), round);
    }
  }

  #take(partition: Partition, answer: PartitionResponse | undefined, round: Round): void {
    if (answer === undefined) {
      round.failure = new KafkaFailure("soon", "The broker did not answer for a partition");
      return;
    }
    if (this.#hasTemplate && isOfTopic(answer.errorCode)) {
      // The topic may be one of many, and must not block events for the others.
      const reason = sentenceOf(answer.errorCode, partition.topic);
      for (const record of partition.queue.discard()) record.result = reason;
      round.isProgress = true;
      return;
    }
    const { written, refused, retryReason } = partition.settle(answer);
    for (const record of written) record.result = true;
    for (const { record, reason } of refused) record.result = reason;
    if (retryReason === undefined) {
      round.isProgress = true;
      return;
    }
    const { errorCode, errorMessage } = answer;
    const told = { code: String(errorCode), body: errorMessage ?? undefined };
    round.failure = new KafkaFailure(outlookOf(errorCode), retryReason, told);
    if (partition.queue.batch === undefined) this.#producerId = undefined;
  }
}

interface Round {
  /** A failure in the round, such as that of a request; undefined if nothing failed. */
  failure: KafkaFailure | undefined;
  isProgress: boolean;
}

const NO_LEADER = 5;

const tooMany = (topic: string) =>
  `The destination writes to ${KAFKA_TOPICS_MAX} topics, and ${topic} would be one more`;
