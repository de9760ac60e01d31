import type { Admin } from "@platformatic/kafka";
import { assert } from "../../assert.ts";
import { CircuitBreaker } from "../../concurrency/circuit-breaker.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import type { Logger } from "../../observe/log.ts";
import {
  BARRIER,
  type Follower,
  type LogEntry,
  type OrderedLog,
} from "../../store/ordered/ordered-log.ts";
import { ensureTopic, type TopicIds, type TopicOpening } from "../topics/ensure-topic.ts";
import { Fetcher } from "../topics/fetcher.ts";
import { EntriesLost, ReadHealth } from "../topics/read-health.ts";
import { TopicIdentity } from "../topics/topic-identity.ts";
import { FollowPace } from "./follow-pace.ts";

export interface OrderedTopicOptions extends TopicOpening {
  /** Client that creates and changes the topic. If absent, `clients` creates one. */
  admin?: Admin;
  /**
   * Number of partitions of the topic. Each partition is a separate ordered log, and all nodes read
   * its entries in the same order.
   */
  partitions: number;
  /**
   * Topic ids that this node stored on disk when it used the topics before. A different id shows
   * that a topic was deleted and created again.
   */
  ids?: TopicIds;
}

/** Maximum milliseconds for which a broker delays a fetch response that has no new entry. */
const FOLLOW_MS = 1_000;
/** Milliseconds between a failed read of the topic and the next attempt. */
const RETRY_MS = 250;
/**
 * Maximum bytes of one partition's entries that were fetched and not yet passed to `take`, the
 * function that handles entries. Above this size, fetching pauses until `take` has caught up.
 */
const PREFETCHED_BYTES_MAX = 1 << 20;

/**
 * Opens a topic, and returns one ordered log for each partition, whose changes all nodes read in
 * the same order. Creates a missing topic. Throws `StartError` when this fails, or when the topic
 * has settings that could lose changes.
 */
export async function openOrderedTopic(options: OrderedTopicOptions): Promise<OrderedLog[]> {
  const { clients, name, partitions, replicas, ids, logger } = options;
  const { admin = clients.admin() } = options;
  await ensureTopic(admin, { name, partitions, replicas }, ids);
  // The producer does not wait for further entries, because there are none: an entry is appended
  // only once the entry before it was decided.
  const producer = new IdempotentProducer({
    producer: clients.producer(),
    topic: name,
    pauseMs: 0,
  });
  const identity = new TopicIdentity(name);
  const consumer = clients.fetchConsumer();
  const fetcher = new Fetcher({ consumer, topic: name, waitMs: FOLLOW_MS, identity });
  const isNeeded = () => clients.isOpen();
  return Array.from({ length: partitions }, (_, partition): OrderedLog => {
    const health = new ReadHealth();
    // All partitions share one fetch request. It would lack a partition whose follower pauses.
    const pace = partitions === 1 ? new FollowPace() : undefined;
    const append = async (entry: Uint8Array) => {
      // Changes based on entries of the former topic are not written to its successor.
      identity.expectUnchanged();
      const position = Number(await producer.send(partition, () => Buffer.from(entry)));
      pace?.appended(position, entry.length === 0);
      return position;
    };
    const appending = new CircuitBreaker({ probe: () => append(BARRIER), isNeeded });
    return {
      append: (entry) => appending.run(() => append(entry)),
      async knownEnd() {
        return Number((await fetcher.brokerOffset("end", partition)).offset);
      },
      async trim(position) {
        const partitions = [{ partition, offset: BigInt(position) }];
        await admin.deleteRecords({ topics: [{ name, partitions }] });
      },
      follow: (position, take) =>
        follow({ fetcher, name, partition, logger, health, pace }, position, take),
      trouble: () => health.trouble(`The topic ${name} cannot be read`),
    };
  });
}

interface FollowParts {
  fetcher: Fetcher;
  name: string;
  partition: number;
  logger: Logger;
  health: ReadHealth;
  /**
   * Decides how long the reader of new entries pauses between two fetches. If undefined, this
   * reader does not pause.
   */
  pace: FollowPace | undefined;
}

function follow(
  { fetcher, name, partition, logger, health, pace }: FollowParts,
  position: number,
  take: (entries: readonly LogEntry[]) => Promise<void>,
): Follower {
  const ahead = new PrefetchedEntries();
  let isOpen = true;
  let next = BigInt(position);

  async function read(): Promise<void> {
    await ahead.hasRoom();
    const fetched = await fetcher.fetch(partition, next);
    if (!isOpen) return;
    // Entries that this node has read are lost if the log ends before the next one.
    if (fetched.isOutOfRange && fetched.first <= next) {
      const kept = `has entries ${fetched.first} to ${fetched.end}`;
      throw new EntriesLost(
        `Expected entry ${next} of the topic ${name} to be the next, but it ${kept}`,
      );
    }
    if (health.succeeded()) logger.info({ topic: name, partition }, "topic can be read again");
    if (fetched.first > next) next = fetched.first;
    const last = fetched.values.at(-1);
    if (last === undefined) return;
    ahead.push(fetched.values.map((it) => ({ position: Number(it.offset), bytes: it.value })));
    next = last.offset + 1n;
    const areBarriers = fetched.values.every(({ value }) => value.length === 0);
    if (areBarriers) await pace?.pause(Number(next));
  }

  async function takeNext(): Promise<void> {
    const entries = await ahead.next();
    if (!isOpen || entries === undefined) return;
    await take(entries);
    ahead.shift();
  }

  /**
   * Calls `once` in a loop until the follower is closed. Pauses after each failure. Logs only the
   * failure that makes the topic count as unreadable.
   */
  async function repeat(once: () => Promise<void>): Promise<void> {
    while (isOpen) {
      try {
        await once();
      } catch (err) {
        if (!isOpen) return;
        const isNew = health.failed(err);
        if (isNew) logger.error({ err, topic: name, partition }, "topic cannot be read");
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  // Partitions share a fetch request. A partition that fetched only between batches would miss the
  // shared request, and its next entries would arrive up to `FOLLOW_MS` later.
  void repeat(read);
  const taking = repeat(takeNext);
  return {
    async close() {
      isOpen = false;
      ahead.end();
      await taking;
    },
  };
}

/**
 * Queue of entries that were fetched and not yet passed to `take`, the function that handles them.
 */
class PrefetchedEntries {
  readonly #batches: { entries: readonly LogEntry[]; bytes: number }[] = [];
  #bytes = 0;
  #isEnded = false;
  #changed = Promise.withResolvers<void>();

  push(entries: readonly LogEntry[]): void {
    const bytes = entries.reduce((sum, it) => sum + it.bytes.length, 0);
    this.#batches.push({ entries, bytes });
    this.#change(bytes);
  }

  /**
   * Waits until the queue has a batch of entries, and returns the oldest one. The batch stays in
   * the queue until `shift` is called. Returns `undefined` when `end` was called and the queue is
   * empty.
   */
  async next(): Promise<readonly LogEntry[] | undefined> {
    while (this.#batches.length === 0 && !this.#isEnded) await this.#changed.promise;
    return this.#batches[0]?.entries;
  }

  shift(): void {
    this.#change(-this.#batches.shift()!.bytes);
  }

  async hasRoom(): Promise<void> {
    while (this.#bytes > PREFETCHED_BYTES_MAX && !this.#isEnded) await this.#changed.promise;
  }

  end(): void {
    this.#isEnded = true;
    this.#change(0);
  }

  #change(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, "The bytes read ahead are never negative");
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
