import type { Producer } from "@platformatic/kafka";

interface Waiting {
  partition: number;
  /** Gives the value, in the moment in which it is sent. */
  take(): Buffer;
  resolve(offset: bigint): void;
  reject(error: unknown): void;
}

export interface SenderOptions {
  producer: Producer;
  topic: string;
  /** Called when the topic is seen to have more partitions than before. */
  onPartitions?(count: number): void;
}

/**
 * Sends values to the partitions of a topic: one request at a time to each leader, which carries
 * what waits for this leader. So requests are as full as can be, and a leader that died holds up
 * its own partitions alone.
 */
export class Sender {
  readonly #options: SenderOptions;
  #waiting: Waiting[] = [];
  #gathering = false;
  /** Leaders that have not answered yet. */
  readonly #busy = new Set<number>();
  #partitions = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the value's offset once all replicas in sync have it. Rejects when the brokers
   * did not say so; then it may be there all the same, once. `take` is called when the request is
   * made, if it comes to that; the caller keeps the value as it is until the promise settles, and
   * waits for that before it sends what must come behind it.
   */
  send(partition: number, take: () => Buffer): Promise<bigint> {
    const { promise, resolve, reject } = Promise.withResolvers<bigint>();
    this.#waiting.push({ partition, take, resolve, reject });
    void this.#sendWaiting();
    return promise;
  }

  async #sendWaiting(): Promise<void> {
    if (this.#gathering) return;
    this.#gathering = true;
    // What comes in this turn of the event loop, and in the next as long as more comes, goes along.
    let count: number;
    do {
      count = this.#waiting.length;
      await new Promise(setImmediate);
    } while (this.#waiting.length > count);
    try {
      const leaders = await this.#leaders();
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const [leader, group] of Map.groupBy(waiting, (it) => leaders[it.partition])) {
        if (leader === undefined) refuse(group, new Error("The partition is not there"));
        else if (this.#busy.has(leader)) this.#waiting.push(...group);
        else void this.#sendTo(leader, group);
      }
    } catch (error) {
      const waiting = this.#waiting;
      this.#waiting = [];
      refuse(waiting, error);
    }
    this.#gathering = false;
  }

  /**
   * Leader of each partition, as of some seconds ago; negative for one that has none. The library
   * sees to those that moved.
   */
  async #leaders(): Promise<number[]> {
    const { producer, topic, onPartitions } = this.#options;
    const { topics } = await producer.metadata({ topics: [topic] });
    const leaders = topics.get(topic)?.partitions.map(({ leader }) => leader) ?? [];
    if (leaders.length > this.#partitions) onPartitions?.(leaders.length);
    this.#partitions = leaders.length;
    return leaders;
  }

  async #sendTo(leader: number, group: readonly Waiting[]): Promise<void> {
    this.#busy.add(leader);
    const { producer, topic } = this.#options;
    let offsets: Map<number, bigint>;
    let reason: unknown;
    try {
      const messages = group.map(({ partition, take }) => ({ topic, partition, value: take() }));
      // The library starts a new sequence after an error only where it is told of idempotence here.
      offsets = offsetsOf(await producer.send({ messages, idempotent: true }));
    } catch (error) {
      // Partitions that moved to different leaders meanwhile fail and succeed apart.
      offsets = offsetsOf((error as { produced?: Produced }).produced);
      reason = error;
    }
    this.#busy.delete(leader);
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
    if (this.#waiting.length > 0) void this.#sendWaiting();
  }
}

interface Produced {
  offsets?: { partition: number; offset: bigint }[];
}

function offsetsOf(produced: Produced | undefined): Map<number, bigint> {
  return new Map(produced?.offsets?.map(({ partition, offset }) => [partition, offset]));
}

function refuse(waiting: readonly Waiting[], error: unknown): void {
  for (const { reject } of waiting) reject(error);
}
