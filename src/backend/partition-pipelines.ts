import { assert } from "../assert.ts";
import type { Live } from "../catalog/live.ts";
import { logNameOf, type PartitionLogs } from "../cluster/events/partition-logs.ts";
import type { ProveEnd } from "../cluster/events/proven-end.ts";
import { PartitionRunner } from "../cluster/membership/partition-runner.ts";
import { nextOffsetBase, type OffsetBase, type TopicEnd } from "../cluster/topics/offset-base.ts";
import type { Logger } from "../observe/log.ts";
import { Ledger } from "../pipeline/ledger/ledger.ts";
import type { PartitionPipeline } from "../pipeline/partition-pipeline.ts";
import type { PipelineHost } from "../pipeline/pipeline.ts";
import { knownPositions } from "../pipeline/reading/known-positions.ts";
import { HAND_OVER_MS_MAX } from "../settings/limits.ts";
import { type RevocableStore, revocable } from "../store/revocable-store.ts";
import { type PartitionLedgers, storedOffsetBase, storeOffsetBase } from "./partition-ledgers.ts";

export interface PartitionPipelinesOptions {
  ledgers: PartitionLedgers;
  logs: PartitionLogs;
  proveEnd: ProveEnd;
  live: Live;
  host: PipelineHost;
  /** Id of this node in the cluster. */
  node: string;
  logger: Logger;
}

/**
 * Milliseconds after which this node tries to start a partition again that another node has taken
 * from it. It does so only if the partition is still assigned to this node.
 */
const RECLAIM_MS = 2_000;

export type PartitionPipelines = ReturnType<typeof runPartitionPipelines>;

/** Partition whose events this node delivers. */
interface RunningPartition {
  ledger: Ledger;
  pipeline: PartitionPipeline;
  /** Stops reading new blocks of the partition's log from the brokers. */
  release(): void;
}

/**
 * Creates the runner, which starts and stops the partitions that are assigned to this node. Each
 * running partition has a pipeline, which runs user code over the partition's events and delivers
 * them.
 */
export function runPartitionPipelines(options: PartitionPipelinesOptions) {
  const { ledgers, logs, proveEnd, live, host, node, logger } = options;
  const running = new Map<number, RunningPartition>();
  /** Store of the ledger (delivery progress) of each partition that is starting or running here. */
  const stores = new Map<number, RevocableStore>();
  const abandon = (partition: number) => stores.get(partition)?.revoke();
  const runner = new PartitionRunner({ start, stop, abandon, logger });

  async function start(partition: number): Promise<void> {
    const isFree = !running.has(partition);
    assert(isFree, "The lanes of a partition run at most once on a node");
    const store = revocable(await ledgers.store(partition));
    stores.set(partition, store);
    const ledger = new Ledger(store, logger);
    let pipeline: PartitionPipeline | undefined;
    let release = () => {};
    await ledger.claim(node, {
      onLost() {
        logger.warn({ partition }, "partition lost to another node");
        runner.restart(partition, RECLAIM_MS);
      },
      onReplaysChanged: (ids) => pipeline?.refreshReplays([...ids]),
    });
    try {
      const log = logNameOf(partition);
      const end = await reliableTopicEnd(
        storedOffsetBase(store),
        () => logs.topicEnd(log, knownPositions(live, ledger)[log] ?? 0),
        () => proveEnd(partition),
      );
      const { base, loss } = await store.change(() => {
        const next = nextOffsetBase(storedOffsetBase(store), end);
        storeOffsetBase(store, next.base);
        return next;
      });
      logs.setOffsetBase(log, base, end.end, loss);
      release = logs.acquire(log);
      pipeline = host.open(ledger, new Map([[log, logs.readers.get(log)!]]));
      running.set(partition, { ledger, pipeline, release });
    } catch (error) {
      release();
      stores.delete(partition);
      await ledger.close();
      throw error;
    }
    logger.info({ partition }, "partition started");
  }

  async function stop(partition: number, drain: boolean): Promise<void> {
    const { ledger, pipeline, release } = running.get(partition)!;
    running.delete(partition);
    stores.delete(partition);
    release();
    await pipeline.close(drain ? HAND_OVER_MS_MAX : 0);
    await ledger.close();
  }

  logs.onOffsetsInvalid((names) => {
    for (const partition of runner.assigned()) {
      if (!names.includes(logNameOf(partition)) || !runner.isSettled(partition)) continue;
      logger.warn({ partition }, "partition offsets invalid, restarting the partition");
      runner.restart(partition);
    }
  });
  return {
    /** Starts and stops the partitions that are assigned to this node. */
    runner,
    /**
     * Returns a sentence if this partition, which is assigned to this node, cannot be started or
     * its ledger (delivery progress) cannot be written. Otherwise undefined.
     */
    trouble(partition: number) {
      if (runner.cannotStart(partition)) return `Partition ${partition} cannot be started`;
      const isFailing = running.get(partition)?.ledger.isFailing === true;
      return isFailing ? `The ledger of partition ${partition} cannot be written` : undefined;
    },
    /** Whether a delivery of the partition waits for a guest (a process that runs user code). */
    isWaitingForSandbox(partition: number) {
      const lanes = [...(running.get(partition)?.pipeline.gauges() ?? [])];
      return lanes.some((lane) => lane.isWaitingForSandbox());
    },
  };
}

/**
 * Returns the end of a partition: the offset after its last block. If the end from a broker (`ask`)
 * would mean that blocks were lost, also asks the leader (`prove`), because a former leader may
 * report an old end. A false loss would raise the partition's offset base permanently.
 */
export async function reliableTopicEnd(
  stored: OffsetBase | undefined,
  ask: () => Promise<TopicEnd>,
  prove: () => Promise<number>,
): Promise<TopicEnd> {
  const told = await ask();
  if (nextOffsetBase(stored, told).loss === undefined) return told;
  const proven = await prove();
  const again = await ask();
  return { ...again, end: Math.max(again.end, proven) };
}
