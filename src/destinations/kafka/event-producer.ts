import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../concurrency/backoff.ts";
import type { OutgoingEvent } from "../destination.ts";
import type { BrokerConnections } from "./broker-connections.ts";
import type { KafkaConfig } from "./config.ts";
import { type BrokerAddress, codeOf, failureOf, KafkaFailure, sentenceOf } from "./failures.ts";
import { KAFKA_TOPICS_MAX } from "./limits.ts";
import { type Identity, Partition, type PartitionAnswer } from "./partition.ts";
import { partitionOf } from "./partitioner.ts";
import { createRecordEncoder, type EventRecord } from "./record.ts";
import { TopicMetadata } from "./topic-metadata.ts";
import { namesEvent } from "./topic-name.ts";

/** Rounds in a row in which nothing was written, after which a delivery is given up for now. */
const ROUNDS_MAX = 5;
/** A partition that lost its leader has another within seconds. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

/** What became of an event: it is written, or refused for a reason. */
export type EventOutcome = true | string;

/**
 * Writes events, each partition in order and each event once: what a delivery leaves undecided is
 * sent again as it was, before anything else of its partition.
 */
export class EventProducer {
  readonly #brokers: BrokerConnections;
  readonly #topics: TopicMetadata;
  readonly #recordOf: (event: OutgoingEvent) => EventRecord;
  readonly #hasTemplate: boolean;
  readonly #isMade: boolean;
  readonly #compression: "none" | "gzip";
  readonly #partitions = new Map<string, Partition>();
  /** What is known of events whose delivery was not answered for as a whole. */
  readonly #fates = new WeakMap<OutgoingEvent, EventOutcome>();
  #identity: Identity | undefined;
  /** Records of nobody go to one partition a delivery, in turns. */
  #turn = 0;

  constructor(brokers: BrokerConnections, config: KafkaConfig) {
    this.#brokers = brokers;
    this.#isMade = config.createTopics ?? false;
    this.#topics = new TopicMetadata(brokers, this.#isMade);
    this.#recordOf = createRecordEncoder(config);
    this.#hasTemplate = namesEvent(config.topic);
    this.#compression = config.compression ?? "none";
  }

  /**
   * Resolves with the fates of the events, in their order, once all have one. Rejects when some
   * have none yet; the same events may come again then, as the same objects.
   */
  async write(events: readonly OutgoingEvent[], signal: AbortSignal): Promise<EventOutcome[]> {
    const unplaced = this.#begin(events);
    this.#turn += 1;
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      const { failure, isProgress } = await this.#round(unplaced, signal);
      if (events.every((event) => this.#fates.has(event))) break;
      failures = isProgress ? 0 : failures + 1;
      if (failure === undefined) continue;
      if (failure.outlook !== "soon" || failures >= ROUNDS_MAX) throw failure;
      this.#topics.expireAll();
      const ms = backoffMs(failures, PAUSE_MS_MIN, PAUSE_MS_MAX);
      // A pause that is cut off ends the loop by the signal's own reason.
      await sleep(ms, undefined, { signal }).catch(() => {});
    }
    const fates = events.map((event) => this.#fates.get(event)!);
    for (const event of events) this.#fates.delete(event);
    return fates;
  }

  /** Records of the events that have no fate and are not under way; others are forgotten. */
  #begin(events: readonly OutgoingEvent[]): EventRecord[] {
    const underWay = new Set<OutgoingEvent>();
    for (const partition of this.#partitions.values()) {
      partition.waiting = [];
      for (const { event } of partition.batch?.records ?? []) underWay.add(event);
    }
    const open = events.filter((event) => !this.#fates.has(event) && !underWay.has(event));
    return open.map(this.#recordOf);
  }

  #due(): Partition[] {
    return [...this.#partitions.values()].filter((it) => it.batch ?? it.waiting.length > 0);
  }

  /** Asks each leader once to take a batch of each of its partitions. */
  async #round(unplaced: EventRecord[], signal: AbortSignal): Promise<Round> {
    const round: Round = { failure: undefined, isProgress: false };
    try {
      this.#identity ??= await this.#identify(signal);
      await this.#place(unplaced, round, signal);
      const groups = this.#byLeader(unplaced, this.#identity, round);
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

  async #identify(signal: AbortSignal): Promise<Identity> {
    const connection = await this.#brokers.connectAny(signal);
    const answer = await connection.request("initProducerId", null, 0, -1n, -1);
    return { id: answer.producerId, epoch: answer.producerEpoch };
  }

  /** Finds the partitions of records; those that no topic is for are refused. */
  async #place(unplaced: EventRecord[], round: Round, signal: AbortSignal): Promise<void> {
    const due = this.#due().map(({ topic }) => topic);
    const topics = this.#topics.admit([...due, ...unplaced.map(({ message }) => message.topic)]);
    const faults = await this.#topics.refresh(topics, signal);
    for (const record of unplaced.splice(0)) {
      const { topic, key } = record.message;
      const count = this.#topics.get(topic)?.leaders.length;
      if (count !== undefined) {
        const index = key === undefined ? this.#turn % count : partitionOf(key, count);
        record.message.partition = index;
        this.#partition(topic, index).waiting.push(record);
        continue;
      }
      const code = faults.get(topic);
      const sentence = code === undefined ? tooMany(topic) : sentenceOf(code, topic);
      if (code === undefined || (this.#hasTemplate && this.#topics.isLost(topic, code))) {
        this.#fates.set(record.event, sentence);
      } else {
        unplaced.push(record);
        round.failure = new KafkaFailure("soon", sentence);
      }
    }
  }

  #partition(topic: string, index: number): Partition {
    const key = `${topic}:${index}`;
    const found = this.#partitions.get(key) ?? new Partition(topic, index);
    this.#partitions.set(key, found);
    return found;
  }

  /** Partitions with something to write, by who leads them and by whom their batch is. */
  #byLeader(unplaced: EventRecord[], identity: Identity, round: Round): Partition[][] {
    const groups = new Map<string, Partition[]>();
    for (const partition of this.#due()) {
      const { topic, index } = partition;
      const count = this.#topics.get(topic)?.leaders.length;
      const leader = this.#topics.leader(topic, index);
      if (count !== undefined && index >= count) {
        // Somebody made the topic anew, with fewer partitions.
        this.#partitions.delete(`${topic}:${index}`);
        unplaced.push(...(partition.batch?.records ?? []), ...partition.waiting);
      } else if (count === undefined && this.#hasTemplate) {
        // The topic is gone: the next round finds that out, or asks for another.
        unplaced.push(...partition.drop(), ...partition.waiting.splice(0));
      } else if (leader === undefined) {
        round.failure ??= new KafkaFailure("soon", sentenceOf(NO_LEADER, topic));
      } else {
        partition.fill(identity);
        const { id, epoch } = partition.batch!.identity;
        const key = `${leader.host}:${leader.port} ${id} ${epoch}`;
        groups.set(key, [...(groups.get(key) ?? []), partition]);
      }
    }
    return [...groups.values()];
  }

  /** Writes a batch of each of these partitions, which one broker leads. */
  async #produce(
    leader: BrokerAddress,
    partitions: Partition[],
    round: Round,
    signal: AbortSignal,
  ) {
    const connection = await this.#brokers.connect(leader, signal);
    const { NumericMap, ResponseError, ProduceAcks } = connection.kafka;
    const batches = partitions.map((it) => ({ ...it.batch!, of: `${it.topic}:${it.index}` }));
    const { id, epoch } = batches[0]!.identity;
    const messages = batches.flatMap(({ records }) => records.map(({ message }) => message));
    const options = {
      compression: this.#compression,
      ...{ producerId: id, producerEpoch: epoch },
      sequences: new NumericMap(batches.map(({ of, sequence }) => [of, sequence])),
    };
    // A broker that waits for its copies says so before the connection is given up.
    const waitMs = Math.floor(this.#brokers.stepMs / 2);
    const { ALL } = ProduceAcks;
    const answer = await connection
      .request("produce", ALL, waitMs, messages, options)
      .catch((error) => {
        // Also an answer that tells an error of one partition tells of the others.
        if (error instanceof ResponseError && codeOf(error) !== undefined) return error.response;
        throw error;
      });
    const { responses } = answer as { responses: ProduceAnswer[] };
    const told = new Map(
      responses.flatMap(({ name, partitionResponses }) =>
        partitionResponses.map((one) => [`${name}:${one.index}`, one] as const),
      ),
    );
    for (const partition of partitions) {
      this.#take(partition, told.get(`${partition.topic}:${partition.index}`), round);
    }
  }

  #take(partition: Partition, answer: PartitionAnswer | undefined, round: Round): void {
    if (answer === undefined) {
      round.failure = new KafkaFailure("soon", "The broker did not answer for a partition");
      return;
    }
    if (this.#hasTemplate && answer.errorCode === NOT_AUTHORISED) {
      // One name of many, which must not hold up the others.
      const reason = sentenceOf(NOT_AUTHORISED, partition.topic);
      for (const { event } of partition.drop()) this.#fates.set(event, reason);
      round.isProgress = true;
      return;
    }
    const { written, refused, again } = partition.answered(answer);
    for (const { event } of written) this.#fates.set(event, true);
    for (const { record, reason } of refused) this.#fates.set(record.event, reason);
    if (again === undefined) {
      round.isProgress = true;
      return;
    }
    round.failure = new KafkaFailure("soon", again);
    if (partition.batch === undefined) this.#identity = undefined;
  }
}

interface Round {
  /** Why something has to come again. */
  failure: KafkaFailure | undefined;
  isProgress: boolean;
}

interface ProduceAnswer {
  name: string;
  partitionResponses: (PartitionAnswer & { index: number })[];
}

const NO_LEADER = 5;
const NOT_AUTHORISED = 29;

const tooMany = (topic: string) =>
  `The destination writes to ${KAFKA_TOPICS_MAX} topics, and ${topic} would be one more`;
