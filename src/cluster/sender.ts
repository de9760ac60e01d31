import type { Producer } from "@platformatic/kafka";

interface Waiting {
  partition: number;
  value: Buffer;
  resolve(offset: bigint): void;
  reject(error: unknown): void;
}

/**
 * Sends values to the partitions of a topic. What comes in one turn of the event loop goes to each
 * leader in one request. Leaders are asked apart, so that one that died holds up its own
 * partitions alone.
 */
export class Sender {
  readonly #producer: Producer;
  readonly #topic: string;
  #waiting: Waiting[] = [];

  constructor(producer: Producer, topic: string) {
    this.#producer = producer;
    this.#topic = topic;
  }

  /**
   * Resolves with the value's offset once all replicas in sync have it. Rejects when the brokers
   * did not say so; then it may be there all the same, once. The caller keeps `value` as it is
   * until then, and waits for it before it sends what must come behind it.
   */
  send(partition: number, value: Buffer): Promise<bigint> {
    const { promise, resolve, reject } = Promise.withResolvers<bigint>();
    if (this.#waiting.push({ partition, value, resolve, reject }) === 1) {
      setImmediate(() => void this.#sendWaiting());
    }
    return promise;
  }

  async #sendWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const leaders = await this.#leaders();
      const byLeader = Map.groupBy(waiting, ({ partition }) => leaders[partition]);
      for (const group of byLeader.values()) void this.#sendGroup(group);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Leader of each partition, as of some seconds ago: the library sees to those that moved. */
  async #leaders(): Promise<(number | undefined)[]> {
    const { topics } = await this.#producer.metadata({ topics: [this.#topic] });
    return topics.get(this.#topic)?.partitions.map(({ leader }) => leader) ?? [];
  }

  async #sendGroup(group: readonly Waiting[]): Promise<void> {
    const topic = this.#topic;
    let offsets: Map<number, bigint>;
    let reason: unknown;
    try {
      const messages = group.map(({ partition, value }) => ({ topic, partition, value }));
      // The library starts a new sequence after an error only where it is told of idempotence here.
      offsets = offsetsOf(await this.#producer.send({ messages, idempotent: true }));
    } catch (error) {
      // Partitions that moved to different leaders meanwhile fail and succeed apart.
      offsets = offsetsOf((error as { produced?: Produced }).produced);
      reason = error;
    }
    for (const { partition, resolve, reject } of group) {
      const offset = offsets.get(partition);
      if (offset === undefined) {
        reject(reason ?? new Error(`Partition ${partition} was not answered for`));
        continue;
      }
      resolve(offset);
      // The answer names the first value of each partition; the others follow it.
      offsets.set(partition, offset + 1n);
    }
  }
}

interface Produced {
  offsets?: { partition: number; offset: bigint }[];
}

function offsetsOf(produced: Produced | undefined): Map<number, bigint> {
  return new Map(produced?.offsets?.map(({ partition, offset }) => [partition, offset]));
}
