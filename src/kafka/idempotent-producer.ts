import { recentResult } from "../observe/recent-result.ts";
import { PartitionQueue, type ProducerId } from "./partition-queue.ts";
import type { PartitionResponse } from "./produce.ts";
import type { ProduceClient } from "./produce-client.ts";

interface IdempotentProducerOptions {
  producer: ProduceClient;
  topic: string;
  /**
   * Called with the number of the topic's partitions when it is first known, and when it has grown.
   */
  onPartitions?(count: number): void;
  /** Milliseconds between a leader's response and the next request to this leader; by default 1. */
  pauseMs?: number;
}

/** Leader of a partition, and how the last attempt to send a batch to the partition failed. */
export interface WriteRefusal {
  /** Address of the broker that leads the partition, as far as this process knows. */
  leader: string | undefined;
  /**
   * Address of the broker to which the last failed attempt sent the batch; before any failure, the
   * broker of the attempt in flight. It may differ from `leader`, and is undefined if the batch was
   * sent to no broker.
   */
  broker: string | undefined;
  /** Error of the last attempt to send the batch; undefined while no attempt has failed. */
  error: unknown;
}

/**
 * Largest number of attempts to send a batch. The attempts and the pauses between them together
 * take longer than the cluster needs to replace a failed leader.
 */
const ATTEMPTS = 20;
/** Pause in milliseconds before a batch is sent again; the first pause may be shorter. */
const RETRY_MS = 250;
/**
 * Milliseconds between a leader's response and the next request to this leader, so that events that
 * arrive meanwhile share one request. Measured: 1 ms saves at least an eighth of the requests of 48
 * connections. A pause as long as the response took would lower the event rate of 16 connections by
 * a quarter.
 */
const PAUSE_MS = 1;
/** Maximum size in bytes of a batch to which another value is added, whatever the value's size. */
const BATCH_BYTES = 512 << 10;

/**
 * Writes values to the partitions of a topic, in order and without duplicates. Sends one request at
 * a time to each leader, so that requests are as full as possible. A failed leader delays only its
 * own partitions.
 */
export class IdempotentProducer {
  readonly #partitions: PartitionState[] = [];
  #added = 0;
  #gathering = false;
  /**
   * Broker ids of leaders to which no request may be sent at present, because a request is in
   * flight or the pause after its response has not ended.
   */
  readonly #busy = new Set<number>();
  /**
   * Producer id for new batches; undefined while a new id must be requested. A batch that is sent
   * again may still use an earlier id.
   */
  #producerId: ProducerId | undefined;
  /**
   * Broker id of each partition's leader. It is negative for a partition without a leader.
   * Undefined before the leaders are first known.
   */
  #leaders: readonly number[] | undefined;
  readonly #askLeaders = recentResult(0, async () => {
    await this.options.producer.refreshLeaders(this.options.topic);
    this.#takeLeaders();
  });

  constructor(private readonly options: IdempotentProducerOptions) {}

  /**
   * Sends a value to a partition. `take` is called later to get the value, which must not change
   * before the promise settles. Resolves with the value's offset once all in-sync replicas have the
   * value. A rejected value may nevertheless have been written.
   */
  send(partition: number, take: () => Buffer): Promise<bigint> {
    const { promise, resolve, reject } = Promise.withResolvers<bigint>();
    for (let it = this.#partitions.length; it <= partition; it++) {
      this.#partitions.push({ partition: it, queue: new PartitionQueue(), attempts: 0 });
    }
    this.#partitions[partition]!.queue.push({ take, resolve, reject });
    this.#added += 1;
    void this.#sendWaiting();
    return promise;
  }

  /**
   * Returns a partition's leader, and how the last attempt to send a batch to this partition
   * failed.
   */
  refusal(partition: number): WriteRefusal {
    const leader = this.#leaders?.[partition] ?? -1;
    const address = leader < 0 ? undefined : this.options.producer.addressOf(leader);
    const { broker, error } = this.#partitions[partition] ?? {};
    return { leader: address, broker, error };
  }

  async #sendWaiting(): Promise<void> {
    if (this.#gathering) return;
    this.#gathering = true;
    // Waits for values of this turn of the event loop, and of the next while more arrive.
    let added: number;
    do {
      added = this.#added;
      await new Promise(setImmediate);
    } while (this.#added > added);
    try {
      if (!this.#takeLeaders()) await this.#askLeaders();
      this.#producerId ??= await this.options.producer.initProducerId();
      this.#sendDue(this.#leaders ?? [], this.#producerId);
    } catch (error) {
      this.#refuse(this.#due(), { broker: undefined, error });
    }
    this.#gathering = false;
  }

  #sendDue(leaders: readonly number[], producerId: ProducerId): void {
    for (const [leader, group] of Map.groupBy(this.#due(), (it) => leaders[it.partition])) {
      if (leader === undefined) this.#refuse(group, { broker: undefined, error: noPartition() });
      else if (!this.#busy.has(leader)) {
        // A request has one producer id. Batches that are sent again may have an older one.
        const idOf = ({ queue }: PartitionState) => queue.batch?.producerId ?? producerId;
        const id = idOf(group.find(({ queue }) => queue.batch !== undefined) ?? group[0]!);
        const sent = group.filter((it) => idOf(it) === id);
        void this.#sendTo(leader, sent, id);
      }
    }
  }

  #due(): PartitionState[] {
    return this.#partitions.filter((it) => !it.isHeld && !it.queue.isEmpty);
  }

  /**
   * Rejects values of each given partition with the error of `failure`: the values of the
   * partition's unacknowledged batch if there is one, otherwise all waiting values.
   */
  #refuse(partitions: readonly PartitionState[], failure: SendFailure): void {
    this.#producerId = undefined;
    for (const state of partitions) {
      const { queue } = state;
      const refused = queue.batch === undefined ? queue.takeWaiting() : queue.abandon();
      state.attempts = 0;
      state.isHeld = false;
      Object.assign(state, failure);
      for (const { reject } of refused) reject(failure.error);
    }
  }

  /**
   * Updates `#leaders` from the brokers' last answers. Returns whether `#leaders` then has at least
   * one partition.
   */
  #takeLeaders(): boolean {
    const { producer, topic, onPartitions } = this.options;
    const before = this.#leaders?.length ?? 0;
    this.#leaders = producer.leaders(topic) ?? this.#leaders;
    const count = this.#leaders?.length ?? 0;
    if (count > before) onPartitions?.(count);
    return count > 0;
  }

  async #sendTo(leader: number, group: PartitionState[], producerId: ProducerId): Promise<void> {
    this.#busy.add(leader);
    const { producer, topic } = this.options;
    // While the request is in flight the partition may get another leader.
    const broker = producer.addressOf(leader) ?? `${leader}`;
    let responses: PartitionResponse[] = [];
    let failure: unknown;
    try {
      const batches = group.map((state) => {
        if (state.error === undefined) state.broker = broker;
        state.isHeld = true;
        state.attempts += 1;
        const { records, sequence } = state.queue.fill(producerId, batchLength);
        const messages = records.map((it) => ({ value: takenValue(it) }));
        const isRepeated = state.attempts > 1;
        return { topic, partition: state.partition, sequence, messages, isRepeated };
      });
      responses = await producer.produce(leader, producerId, batches);
    } catch (error) {
      failure = error;
    }
    for (const state of group) {
      const response = responses.find((it) => it.index === state.partition);
      try {
        if (response?.errorCode === 0) acknowledge(state, response.baseOffset);
        else {
          const error = response ? producer.errorOf(response) : (failure ?? noResponse());
          this.#failed(state, { broker, error });
        }
      } catch (error) {
        this.#refuse([state], { broker, error });
      }
    }
    const { pauseMs = PAUSE_MS } = this.options;
    if (pauseMs > 0) await Bun.sleep(pauseMs);
    this.#busy.delete(leader);
    void this.#sendWaiting();
  }

  /**
   * Handles a batch that the leader did not confirm. Rejects its values if the error is fatal, or
   * after `ATTEMPTS` attempts. Otherwise, sends the batch again after a pause.
   */
  #failed(state: PartitionState, failure: SendFailure): void {
    Object.assign(state, failure);
    const errorClass = this.options.producer.classify(failure.error);
    if (errorClass === "fatal" || state.attempts >= ATTEMPTS) {
      this.#refuse([state], failure);
      return;
    }
    if (errorClass === "producer-id") {
      this.#producerId = undefined;
      state.queue.requeueWithNewProducerId();
    }
    const asked = this.#askLeaders().catch(() => {});
    const rest = Bun.sleep(RETRY_MS);
    // After the first failure the batch waits only until the leaders are known again.
    void (state.attempts === 1 ? Promise.race([asked, rest]) : rest).then(() => {
      state.isHeld = false;
      void this.#sendWaiting();
    });
  }
}

interface QueuedValue {
  /**
   * Returns the bytes of the Kafka record value to write. Called once, when the value joins a
   * batch.
   */
  take(): Buffer;
  /**
   * Bytes of the Kafka record value that `take` returned. Undefined until the value joins a batch.
   */
  value?: Buffer;
  resolve(offset: bigint): void;
  reject(error: unknown): void;
}

/** How an attempt to send a batch failed. */
type SendFailure = Pick<WriteRefusal, "broker" | "error">;

interface PartitionState extends Partial<SendFailure> {
  partition: number;
  queue: PartitionQueue<QueuedValue>;
  /** Number of requests so far that contained the partition's current batch. */
  attempts: number;
  /**
   * Whether no batch of the partition may be sent at present: its batch is in flight, or waits for
   * its next attempt.
   */
  isHeld?: boolean;
}

function takenValue(queued: QueuedValue): Buffer {
  queued.value ??= queued.take();
  return queued.value;
}

/** Returns the number of values at the front of `waiting` that form the next batch. */
function batchLength(waiting: readonly QueuedValue[]): number {
  let bytes = 0;
  const end = waiting.findIndex((queued) => {
    if (bytes > BATCH_BYTES) return true;
    bytes += takenValue(queued).length;
    return false;
  });
  return end < 0 ? waiting.length : end;
}

function acknowledge(state: PartitionState, baseOffset: bigint): void {
  const records = state.queue.acknowledge();
  Object.assign(state, { attempts: 0, broker: undefined, error: undefined, isHeld: false });
  for (const [index, { resolve }] of records.entries()) resolve(baseOffset + BigInt(index));
}

const noPartition = () => new Error("The partition does not exist");
const noResponse = () => new Error("The leader did not respond for the partition");
