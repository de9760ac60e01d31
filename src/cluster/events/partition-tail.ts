import { assert, InvariantError } from "../../assert.ts";
import { OneTimeEvent } from "../../concurrency/one-time-event.ts";
import { type Block, recordsOf } from "../../log/block.ts";
import type { DurableRange } from "../../log/event-log.ts";
import type { Logger } from "../../observe/log.ts";
import type { Fetcher } from "../topics/fetcher.ts";
import { nameNumbers } from "../topics/number-list.ts";
import { ReadHealth } from "../topics/read-health.ts";
import type { PartitionReader } from "./partition-reader.ts";
import { offsetOf } from "./sequence.ts";

export interface PartitionTailOptions {
  /**
   * Fetcher that only the `PartitionTail` uses. A broker delays the responses to its requests until
   * new blocks arrive. Over a shared connection, this would delay all other fetches.
   */
  fetcher: Fetcher;
  nameOf(partition: number): string;
  /** Returns a record's source id; undefined if this version cannot read the record. */
  sourceOf(record: Uint8Array): string | undefined;
  onNews(news?: DurableRange): void;
  logger: Logger;
}

interface Followed {
  followers: number;
  /** Stops the loop that fetches the partition's new blocks. */
  stop: () => void;
  ended: Promise<void>;
}

/** Milliseconds between a failed fetch and the next attempt. */
const RETRY_MS = 250;
/**
 * Maximum number of sources in one notification about new blocks. A notification about events of
 * more sources lists none; all deliveries that read the partition then look for new events.
 */
const ANNOUNCED_SOURCES_MAX = 2_000;

/**
 * Fetches new blocks of the followed partitions (those for which `follow` was called). Calls
 * `onNews` when blocks have arrived.
 */
export class PartitionTail {
  readonly #followed = new Map<number, Followed>();
  readonly #ending = new Set<Promise<void>>();
  readonly #health = new Map<number, ReadHealth>();

  constructor(private readonly options: PartitionTailOptions) {}

  follows(partition: number): boolean {
    return this.#followed.has(partition);
  }

  /** Passes new blocks of a partition to `reader`, until the returned function is called. */
  follow(partition: number, reader: PartitionReader): () => void {
    const followed = this.#followed.get(partition) ?? this.#begin(partition, reader);
    followed.followers++;
    let isFollowing = true;
    return () => {
      if (!isFollowing) return;
      isFollowing = false;
      followed.followers--;
      assert(followed.followers >= 0, "A partition is unfollowed as often as it was followed");
      if (followed.followers === 0) this.#end(partition, followed);
    };
  }

  /**
   * Returns a sentence about the followed partitions that cannot be read, or `undefined` when all
   * can be read.
   */
  trouble(): string | undefined {
    const failing = [...this.#health].filter(([, { isUnreadable }]) => isUnreadable);
    if (failing.length === 0) return undefined;
    const groups = [...Map.groupBy(failing, ([, { cause }]) => cause)].map(([cause, of]) => {
      return `${nameNumbers(of.map(([partition]) => partition))}: ${cause}`;
    });
    return `The event log cannot be read in partitions ${groups.join("; ")}`;
  }

  /** Returns whether the partition is followed and cannot be read. */
  isFailing(partition: number): boolean {
    return this.#health.get(partition)?.isUnreadable === true;
  }

  async close(): Promise<void> {
    for (const [partition, followed] of this.#followed) this.#end(partition, followed);
    await Promise.all(this.#ending);
  }

  #begin(partition: number, reader: PartitionReader): Followed {
    const stop = new OneTimeEvent<undefined>();
    const ended = this.#run(partition, reader, stop);
    const followed = { followers: 0, stop: () => stop.happen(undefined), ended };
    this.#followed.set(partition, followed);
    return followed;
  }

  #end(partition: number, { stop, ended }: Followed): void {
    this.#followed.delete(partition);
    this.#health.delete(partition);
    stop();
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  async #run(
    partition: number,
    reader: PartitionReader,
    stop: OneTimeEvent<undefined>,
  ): Promise<void> {
    const { fetcher, logger, onNews, nameOf } = this.options;
    const health = new ReadHealth();
    this.#health.set(partition, health);
    // Listeners do not know of blocks that arrived before this node followed the partition.
    await Promise.resolve();
    if (!stop.hasHappened) onNews();
    while (!stop.hasHappened) {
      try {
        const from = reader.end();
        const fetched = await stop.race(fetcher.fetch(partition, offsetOf(from)));
        if (fetched === undefined) break;
        const blocks = reader.addFetched(fetched);
        if (health.succeeded()) logger.info({ partition }, "partition can be read again");
        if (reader.end() > from) this.#tell(nameOf(partition), reader.end(), blocks);
      } catch (err) {
        if (stop.hasHappened) break;
        if (health.failed(err)) logger.error({ err, partition }, "partition cannot be read");
        // The same blocks would break the invariant again.
        if (err instanceof InvariantError) return;
        await stop.race(Bun.sleep(RETRY_MS));
      }
    }
  }

  #tell(log: string, end: number, blocks: readonly Block[]): void {
    const sources = new Set<string | undefined>();
    for (const block of blocks) {
      for (const { bytes } of recordsOf(block)) sources.add(this.options.sourceOf(bytes));
    }
    const isNamed =
      !sources.has(undefined) && sources.size > 0 && sources.size <= ANNOUNCED_SOURCES_MAX;
    const named = [...sources].filter((source) => source !== undefined);
    this.options.onNews(isNamed ? { log, end, sources: named } : undefined);
  }
}
