import type { Live } from "../catalog/catalog.ts";
import { logNameOf, type PartitionLogs } from "../cluster/events/partition-logs.ts";
import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import { nextOffsetBase } from "../cluster/topics/offset-base.ts";
import { clusterDirectory, topicIds } from "../first-start/data-directory.ts";
import type { KafkaClients } from "../kafka/client.ts";
import type { Logger } from "../observe/log.ts";
import { LEDGER_TABLES_MAX, Ledger } from "../pipeline/ledger/ledger.ts";
import type { LaneRecord } from "../pipeline/model/lane-record.ts";
import type { PartitionPipeline } from "../pipeline/partition-pipeline.ts";
import type { PipelineHost } from "../pipeline/pipeline.ts";
import { knownPositions } from "../pipeline/reading/known-positions.ts";
import { HAND_OVER_MS_MAX } from "../settings/limits.ts";
import type { Config } from "../settings/reader.ts";
import { openView } from "../store/lmdb/view.ts";
import { openOrderedStore } from "../store/ordered/ordered-store.ts";
import { type Store, withoutClose } from "../store/store.ts";
import {
  OFFSET_BASE_KEY,
  offsetBaseTable,
  storedOffsetBase,
  syncOffsetBase,
} from "./offset-base.ts";

export interface ClusterPartitionsOptions {
  clients: KafkaClients;
  /** Topic of the ledgers, a partition for each partition of the events. */
  topic: string;
  replicas: number;
  config: Config;
  live: Live;
  logs: PartitionLogs;
  /** What this node is called. */
  node: string;
  logger: Logger;
  /** Called when a newer pixelmill wrote to a ledger. */
  onNewer(reason: string): void;
}

/** How often it is looked whether there are more partitions. */
const GROWTH_MS = 2_000;
/** Between the loss of a partition that the other nodes think is here, and the next claim. */
const CLAIM_AGAIN_MS = 2_000;

/** The lanes over a partition. */
interface Running {
  ledger: Ledger;
  line: PartitionPipeline;
  /** Ends the following of the log. */
  leave(): void;
}

/** One partition, as this node knows it. */
interface Share {
  store: Store;
  /** Reads what any node wrote. The lanes, if this node has them, write by a ledger of their own. */
  ledger: Ledger;
  /** Whether the other nodes think that the partition is run here. */
  isWanted: boolean;
  /** While it is stopped and started because its log is not where it was. */
  isMoving?: boolean;
  running?: Running;
  /** Steps of taking and giving, one after the other. */
  last: Promise<void>;
}

/**
 * The partitions of a cluster: the ledgers of all, and the lanes over those that are this node's.
 */
export class ClusterPartitions {
  readonly #options: ClusterPartitionsOptions;
  readonly #shares: Share[] = [];
  #lines: PipelineHost | undefined;

  #growing: Promise<void> = Promise.resolve();
  readonly #looking: ReturnType<typeof setInterval>;

  /** Throws `StartError` when the topic cannot be used. */
  static async open(options: ClusterPartitionsOptions): Promise<ClusterPartitions> {
    const shares = new ClusterPartitions(options);
    await shares.#grow();
    options.logs.onOffsetsInvalid((moved) => shares.#restart(moved));
    return shares;
  }

  constructor(options: ClusterPartitionsOptions) {
    this.#options = options;
    this.#looking = setInterval(() => {
      this.#grow().catch((err) => options.logger.error({ err }, "A ledger cannot be opened"));
    }, GROWTH_MS);
  }

  /** Of all partitions. */
  ledgers(): Ledger[] {
    return this.#shares.map(({ ledger }) => ledger);
  }

  /** Ids of the nodes that run partitions, as far as this node knows. */
  owners(): Set<string> {
    return new Set(this.#shares.flatMap(({ ledger }) => ledger.owner()?.node ?? []));
  }

  /** Number of partitions whose lanes run here. */
  running(): number {
    return this.#shares.filter(({ running }) => running !== undefined).length;
  }

  /** Where the lanes run of partitions that are taken. */
  run(lines: PipelineHost): void {
    this.#lines = lines;
  }

  /** A partition is this node's; resolves when its lanes run here. */
  async take(partition: number): Promise<void> {
    if (partition >= this.#shares.length) await this.#grow();
    const share = this.#shares[partition]!;
    share.isWanted = true;
    await this.#next(share, () => this.#start(partition, share));
  }

  /** A partition is this node's no more; resolves when its lanes have ended here. */
  async give(partition: number): Promise<void> {
    const share = this.#shares[partition];
    if (share === undefined) return;
    share.isWanted = false;
    await this.#next(share, () => this.#stop(share, HAND_OVER_MS_MAX));
  }

  /**
   * Of each partition: who runs it, and how much some destination is behind, where the brokers tell
   * how long it is.
   */
  async lags() {
    const { readers } = this.#options.logs;
    const ends = await this.#options.logs.ends().catch(() => undefined);
    return this.#shares.map(({ ledger }, partition) => {
      const log = logNameOf(partition);
      const reader = readers.get(log);
      const node = ledger.owner()?.node;
      const whose = { partition, ...(node && { node }) };
      if (ends === undefined) return whose;
      const end = ends[log] ?? 0;
      const lows = ledger.lanes().map((record) => lowOf(record, log) ?? end);
      const low = Math.min(end, ...lows);
      return { ...whose, lagEvents: reader?.countBetween(low, end) ?? 0 };
    });
  }

  /** Why some ledger cannot be read or written at the moment; undefined while all can. */
  trouble(): string | undefined {
    const troubles = this.#shares.values().map(({ ledger }) => ledger.trouble());
    return troubles.find((trouble) => trouble !== undefined);
  }

  async end(): Promise<void> {
    clearInterval(this.#looking);
    await this.#growing.catch(() => {});
    await Promise.all(this.#shares.map((share) => this.#next(share, () => this.#stop(share, 0))));
    await Promise.all(this.#shares.map(({ ledger }) => ledger.close()));
  }

  /** Opens the ledgers of partitions that are new to this node. */
  #grow(): Promise<void> {
    this.#growing = this.#growing.catch(() => {}).then(() => this.#openLedgers());
    return this.#growing;
  }

  async #openLedgers(): Promise<void> {
    const { clients, topic, replicas, config, logger, logs, onNewer } = this.#options;
    const partitions = logs.readers.size;
    const known = this.#shares.length;
    if (partitions <= known) return;
    const orders = await openOrderedTopic({
      ...{ clients, name: topic, partitions, replicas, logger },
      ids: topicIds(config),
    });
    const about = { name: "The ledger", logger };
    for (const [index, log] of orders.slice(known).entries()) {
      const path = clusterDirectory(config, `ledger/${known + index}`);
      const local = openView({ path, tablesMax: LEDGER_TABLES_MAX, ...about });
      const store = openOrderedStore({ local, log, onNewer, ...about });
      const ledger = new Ledger(store, logger);
      syncOffsetBase(store, logs, logNameOf(known + index));
      this.#shares.push({ store, ledger, isWanted: false, last: Promise.resolve() });
    }
  }

  /** A step that fails does not stop the next. */
  #next(share: Share, step: () => Promise<void>): Promise<void> {
    const done = share.last.then(step);
    share.last = done.catch(() => {});
    return done;
  }

  async #start(partition: number, share: Share): Promise<void> {
    if (!share.isWanted || share.running !== undefined) return;
    const { node, live, logger, logs } = this.#options;
    const ledger = new Ledger(withoutClose(share.store), logger);
    let line: PartitionPipeline | undefined;
    await ledger.claim(node, {
      onLost: () => this.#lost(partition, share),
      onReplays: (ids) => line?.replay([...ids]),
    });
    const log = logNameOf(partition);
    const found = await logs.topicEnd(log, knownPositions(live, ledger)[log] ?? 0);
    const { place, lost } = await share.store.change(() => {
      const placed = nextOffsetBase(storedOffsetBase(share.store), found);
      offsetBaseTable(share.store).put(OFFSET_BASE_KEY, placed.place);
      return placed;
    });
    logs.setOffsetBase(log, place, lost);
    const leave = logs.acquire(log);
    line = this.#lines!.open(ledger, new Map([[log, logs.readers.get(log)!]]));
    share.running = { ledger, line, leave };
    logger.info({ partition }, "This node runs a partition");
  }

  async #stop(share: Share, drainMs: number): Promise<void> {
    const { running } = share;
    if (running === undefined) return;
    delete share.running;
    running.leave();
    await running.line.close(drainMs);
    await running.ledger.close();
  }

  /** Logs that are not where they were are looked for by those whose lanes read them. */
  #restart(moved: readonly string[]): void {
    for (const [partition, share] of this.#shares.entries()) {
      if (!share.isWanted || share.isMoving || !moved.includes(logNameOf(partition))) continue;
      share.isMoving = true;
      const { logger } = this.#options;
      logger.warn({ partition }, "A partition is not where it was, and is opened again");
      const restarted = this.#next(share, async () => {
        await this.#stop(share, 0);
        await this.#start(partition, share);
      });
      restarted
        .catch((err) => logger.error({ err, partition }, "A partition cannot be opened again"))
        .finally(() => {
          share.isMoving = false;
        });
    }
  }

  /** Another node claimed the partition. What it is delivering here is cut off: it goes on there. */
  #lost(partition: number, share: Share): void {
    const { logger } = this.#options;
    logger.warn({ partition }, "Another node has taken a partition that this one ran");
    void this.#next(share, () => this.#stop(share, 0));
    setTimeout(() => {
      if (share.isWanted) this.take(partition).catch((err) => logger.error({ err, partition }));
    }, CLAIM_AGAIN_MS).unref();
  }
}

function lowOf({ logs }: LaneRecord, log: string): number | undefined {
  const cursor = logs[log];
  return cursor && Math.min(cursor.next, ...cursor.pending);
}
