import { logNameOf, type PartitionLogs } from "../cluster/events/partition-logs.ts";
import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import type { TopicOpening } from "../cluster/topics/ensure-topic.ts";
import type { OffsetBase } from "../cluster/topics/offset-base.ts";
import { type Judgement, judgeLedgers } from "../cluster/topics/troubles.ts";
import { clusterDirectory, topicIds } from "../first-start/data-directory.ts";
import type { KafkaClients } from "../kafka/client.ts";
import { Ledger } from "../pipeline/ledger/ledger.ts";
import type { LaneRecord } from "../pipeline/model/lane-record.ts";
import type { Config } from "../settings/keys.ts";
import { openView } from "../store/lmdb/view.ts";
import { OrderedStore } from "../store/ordered/ordered-store.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

export interface PartitionLedgersOptions {
  /**
   * Kafka topic of the ledgers (delivery progress). Each of its partitions has the ledger of the
   * event log's partition with the same number.
   */
  topic: TopicOpening;
  config: Config;
  logs: PartitionLogs;
  /**
   * Reports an entry of a ledger (delivery progress of a partition) that this release cannot read,
   * because a newer pixelmill release wrote it. `reason` is a sentence about this.
   */
  onNewer(reason: string): void;
}

/** Milliseconds between two checks for new partitions. */
const GROWTH_MS = 2_000;
/**
 * Maximum milliseconds that `lags` waits for the brokers that lead the partitions of the event log.
 */
const LAGS_MS_MAX = 1_000;

interface PartitionLedger {
  store: Store;
  /** This node's local copy of the ledger. `trouble` says why the node cannot write to the copy. */
  view: Pick<Store, "trouble">;
  /**
   * Access to the ledger for reading. The node that delivers the partition writes to the ledger
   * through a separate `Ledger` object.
   */
  ledger: Ledger;
}

/**
 * Ledgers of all partitions of the cluster. A ledger stores how far a partition's events are
 * delivered. This node has a local copy of each, built from the changes in a Kafka topic.
 */
export class PartitionLedgers {
  /**
   * Kafka client that creates the topic of the ledgers and adds partitions to it. It stays open,
   * because adding partitions is tried again after a failure.
   */
  readonly #admin: ReturnType<KafkaClients["admin"]>;
  readonly #ledgers: PartitionLedger[] = [];
  #growing: Promise<void> | undefined;
  readonly #growth: Timer;

  /**
   * Opens the ledgers (delivery progress) of all partitions. Throws `StartError` when their topic
   * has unsafe settings or was recreated.
   */
  static async open(options: PartitionLedgersOptions): Promise<PartitionLedgers> {
    const ledgers = new PartitionLedgers(options);
    await ledgers.#grow();
    return ledgers;
  }

  constructor(private readonly options: PartitionLedgersOptions) {
    const { clients, logger } = options.topic;
    this.#admin = clients.admin();
    this.#growth = setInterval(() => {
      this.#grow().catch((err) => logger.error({ err }, "ledger open failed"));
    }, GROWTH_MS);
  }

  all(): Ledger[] {
    return this.#ledgers.map(({ ledger }) => ledger);
  }

  /**
   * Returns the store of a partition's ledger (delivery progress). Throws `RangeError` if the
   * partition does not exist.
   */
  async store(partition: number): Promise<Store> {
    if (partition >= this.#ledgers.length) await this.#grow();
    const found = this.#ledgers[partition];
    if (found === undefined) throw new RangeError(`Expected a partition, got ${partition}`);
    return found.store;
  }

  /**
   * Returns the ids of the nodes that deliver partitions, by the ledger entries that this node has
   * read.
   */
  owners(): Set<string> {
    return new Set(this.#ledgers.flatMap(({ ledger }) => ledger.owner()?.node ?? []));
  }

  /**
   * Returns for each partition the node that delivers it, and `lagEvents`, an estimate of the
   * events that its slowest destination has not received. `lagEvents` is missing while the
   * partition's leader does not answer.
   */
  async lags() {
    const { logs } = this.options;
    const late = Bun.sleep(2 * LAGS_MS_MAX).then(() => undefined);
    const known = logs.learnEnds(LAGS_MS_MAX).catch(() => undefined);
    const { ends = {} } = (await Promise.race([known, late])) ?? {};
    return await Array.fromAsync(this.#ledgers, async ({ ledger }, partition) => {
      // Reading the ledger of a partition with 10,000 destinations takes 30 ms, so that the event
      // loop does other work before each.
      await new Promise((resolve) => setImmediate(resolve));
      const log = logNameOf(partition);
      const node = ledger.owner()?.node;
      const owned = { partition, ...(node && { node }) };
      const end = ends[log];
      if (end === undefined) return owned;
      const low = Math.min(end, ...ledger.lanes().map((record) => lowOf(record, log) ?? end));
      return { ...owned, lagEvents: logs.readers.get(log)?.countBetween(low, end) ?? 0 };
    });
  }

  /**
   * Returns what failing ledgers mean for `/ready`: a reason to answer 503 (`trouble`), or
   * warnings. `runsPartitions` says whether this node delivers events.
   */
  health(runsPartitions: boolean): Judgement {
    const failures = this.#ledgers.map(({ ledger }) => ledger.failure());
    return judgeLedgers(failures, this.diskTrouble(), runsPartitions);
  }

  /** Number of partitions whose ledgers are open. */
  count(): number {
    return this.#ledgers.length;
  }

  /**
   * Returns a sentence if the ledger of this partition cannot be read or written. Otherwise
   * undefined.
   */
  troubleOf(partition: number): string | undefined {
    return this.#ledgers[partition]?.ledger.failure();
  }

  /** Returns a sentence if this node's disk cannot store changes of the ledgers, else undefined. */
  diskTrouble(): string | undefined {
    const troubles = this.#ledgers.values().map(({ view }) => view.trouble());
    return troubles.find((trouble) => trouble !== undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#growth);
    await this.#growing?.catch(() => {});
    await Promise.all(this.#ledgers.map(({ ledger }) => ledger.close()));
  }

  /**
   * Opens the ledgers of new partitions. While an earlier call has not finished, returns the
   * promise of the earlier call. Calls come every `GROWTH_MS`, but opening takes far longer while
   * partitions have no leader.
   */
  #grow(): Promise<void> {
    this.#growing ??= this.#openLedgers().finally(() => {
      this.#growing = undefined;
    });
    return this.#growing;
  }

  async #openLedgers(): Promise<void> {
    const { topic, config, logs, onNewer } = this.options;
    const { logger } = topic;
    const partitions = logs.readers.size;
    const known = this.#ledgers.length;
    if (partitions <= known) return;
    const ids = topicIds(config);
    const orders = await openOrderedTopic({ ...topic, admin: this.#admin, partitions, ids });
    const name = "The ledger";
    for (const [index, log] of orders.slice(known).entries()) {
      const path = clusterDirectory(config, `ledger/${known + index}`);
      const local = openView({ path, name, logger });
      const store = new OrderedStore({ local, log, name, logger, onNewer });
      syncOffsetBase(store, logs, logNameOf(known + index));
      this.#ledgers.push({ store, view: local, ledger: new Ledger(store, logger) });
    }
  }
}

/**
 * Returns the sequence number of the first event in `log` that a destination has not received,
 * according to the destination's record in the ledger. Undefined if the record has no position in
 * this log.
 */
function lowOf({ logs }: LaneRecord, log: string): number | undefined {
  const cursor = logs[log];
  return cursor && Math.min(cursor.next, ...cursor.pending);
}

const OFFSET_BASE_TABLE = "places";
/** Key of the only row in the table that stores a partition's offset base. */
const OFFSET_BASE_KEY = "place";

/**
 * Returns the table of the offset base in `store`, a partition's ledger. The offset base is added
 * to the brokers' offsets, so that stored delivery positions stay valid after the topic has lost
 * blocks.
 */
const offsetBaseTable = (store: Store): Table<OffsetBase, string> => store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

export function storeOffsetBase(store: Store, base: OffsetBase): void {
  offsetBaseTable(store).put(OFFSET_BASE_KEY, base);
}

/**
 * Makes a log use the offset base (number that is added to the brokers' offsets) in `store`, the
 * ledger of the log's partition: at once, and again whenever the stored one changes.
 */
export function syncOffsetBase(store: Store, logs: PartitionLogs, log: string): void {
  const sync = () => {
    const base = storedOffsetBase(store);
    if (base !== undefined) logs.setOffsetBase(log, base);
  };
  sync();
  store.listen((tables) => {
    if (tables.has(OFFSET_BASE_TABLE)) sync();
  });
}
