import { logNameOf, type PartitionLogs } from "../cluster/events/partition-logs.ts";
import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import { judgeLedgers, type LedgerJudgement } from "../cluster/topics/ledger-trouble.ts";
import { clusterDirectory, topicIds } from "../first-start/data-directory.ts";
import type { KafkaClients } from "../kafka/client.ts";
import type { Logger } from "../observe/log.ts";
import { Ledger } from "../pipeline/ledger/ledger.ts";
import type { LaneRecord } from "../pipeline/model/lane-record.ts";
import type { Config } from "../settings/keys.ts";
import { openView } from "../store/lmdb/view.ts";
import { OrderedStore } from "../store/ordered/ordered-store.ts";
import type { Store } from "../store/store.ts";
import { syncOffsetBase } from "./offset-base.ts";

export interface PartitionLedgersOptions {
  clients: KafkaClients;
  /**
   * Name of the topic with the ledgers, which store how far events are delivered. It has one
   * partition for each partition of the event log.
   */
  topic: string;
  replicas: number;
  config: Config;
  logs: PartitionLogs;
  logger: Logger;
  /**
   * Called with a sentence when a ledger (delivery progress of a partition) has an entry of a newer
   * pixelmill release, which this release cannot read.
   */
  onNewer(reason: string): void;
}

/** Interval in milliseconds at which new partitions are detected. */
const GROWTH_MS = 2_000;
/** Longest time in milliseconds that `lags` waits for the leaders of the event log. */
const LAGS_MS_MAX = 1_000;

interface PartitionLedger {
  store: Store;
  /** Store with this node's local copy of the ledger. */
  view: Pick<Store, "trouble">;
  /**
   * Ledger (how far the partition's events are delivered), used only for reading. The node that
   * delivers the partition writes through another `Ledger` object.
   */
  ledger: Ledger;
}

/**
 * Ledgers of all partitions of the cluster. A ledger stores how far a partition's events are
 * delivered. Each ledger here is a local copy, which this node builds from the changes in the topic
 * of ledgers.
 */
export class PartitionLedgers {
  readonly #options: PartitionLedgersOptions;
  /**
   * Kafka client for all attempts to open ledgers. Attempts are repeated, because they fail as long
   * as the topic of the ledgers cannot grow.
   */
  readonly #admin: ReturnType<KafkaClients["admin"]>;
  readonly #ledgers: PartitionLedger[] = [];
  #growing: Promise<void> | undefined;
  readonly #growth: ReturnType<typeof setInterval>;

  /**
   * Opens the ledgers (delivery progress) of all partitions. Throws `StartError` when their topic
   * has unsafe settings or was recreated.
   */
  static async open(options: PartitionLedgersOptions): Promise<PartitionLedgers> {
    const ledgers = new PartitionLedgers(options);
    await ledgers.#grow();
    return ledgers;
  }

  constructor(options: PartitionLedgersOptions) {
    this.#options = options;
    this.#admin = options.clients.admin();
    this.#growth = setInterval(() => {
      this.#grow().catch((err) => options.logger.error({ err }, "ledger open failed"));
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
   * Returns the ids of the nodes that deliver partitions, according to the ledger entries (delivery
   * progress) that this node has read.
   */
  owners(): Set<string> {
    return new Set(this.#ledgers.flatMap(({ ledger }) => ledger.owner()?.node ?? []));
  }

  /**
   * Returns for each partition its owner, which is the node that delivers it, and its lag. The lag
   * is the number of events that are not delivered to the partition's slowest destination. It is
   * missing while the partition's leader does not answer.
   */
  async lags() {
    const { logs } = this.#options;
    const late = Bun.sleep(2 * LAGS_MS_MAX).then(() => undefined);
    const known = logs.learnEnds(LAGS_MS_MAX).catch(() => undefined);
    const { ends = {} } = (await Promise.race([known, late])) ?? {};
    return await mapInTurns(this.#ledgers, ({ ledger }, partition) => {
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
   * Decides whether ledgers that cannot be read or written make `/ready` answer 503, or only cause
   * warnings. `runsPartitions` is whether this node delivers events.
   */
  health(runsPartitions: boolean): LedgerJudgement {
    const failures = this.#ledgers.map(({ ledger }) => ledger.failure());
    return judgeLedgers(failures, this.diskTrouble(), runsPartitions);
  }

  /** Number of partitions whose ledgers are open. */
  count(): number {
    return this.#ledgers.length;
  }

  /** Returns a sentence about the ledger of one partition if it cannot be read or written. */
  troubleOf(partition: number): string | undefined {
    return this.#ledgers[partition]?.ledger.failure();
  }

  /** Returns a sentence if the disk refuses changes to the local copies of ledgers. */
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
   * Opens the ledgers (delivery progress) of partitions that were added to the topic. A call during
   * an attempt waits for the same attempt, because an attempt takes far longer than `GROWTH_MS`
   * while partitions have no leader.
   */
  #grow(): Promise<void> {
    this.#growing ??= this.#openLedgers().finally(() => {
      this.#growing = undefined;
    });
    return this.#growing;
  }

  async #openLedgers(): Promise<void> {
    const { clients, topic, replicas, config, logger, logs, onNewer } = this.#options;
    const partitions = logs.readers.size;
    const known = this.#ledgers.length;
    if (partitions <= known) return;
    const ids = topicIds(config);
    const orders = await openOrderedTopic({
      clients,
      admin: this.#admin,
      name: topic,
      partitions,
      replicas,
      ids,
      logger,
    });
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
 * Maps items, one per turn of the event loop. Reading a ledger of 10,000 destinations takes 30 ms,
 * and other work can run between two ledgers.
 */
async function mapInTurns<T, R>(items: readonly T[], map: (item: T, index: number) => R) {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    await new Promise((resolve) => setImmediate(resolve));
    results.push(map(item, index));
  }
  return results;
}

/**
 * Returns the sequence number of the first event in a log that is not delivered to the destination
 * of this record. Returns undefined if the record has no position in the log.
 */
function lowOf({ logs }: LaneRecord, log: string): number | undefined {
  const cursor = logs[log];
  return cursor && Math.min(cursor.next, ...cursor.pending);
}
