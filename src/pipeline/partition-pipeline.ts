import type { DurableRange, LogReader } from "../log/event-log.ts";
import { DRAIN_MS_MAX } from "../settings/limits.ts";
import {
  createDeadLetterRetention,
  type DeadLetterBounds,
} from "./dead-letters/letter-retention.ts";
import { LaneRegistry, type LaneRegistryParts } from "./lane-registry.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { HeldRecords } from "./reading/held-records.ts";
import type { Repetitions } from "./repetitions/repetitions.ts";
import { expireJobs } from "./replays/expire.ts";
import { LetterJobRunner } from "./replays/letter-job-runner.ts";
import type { Retention } from "./retention/retention.ts";
import { createTrimmer } from "./retention/trimmer.ts";
import { SharedPoll } from "./shared-poll.ts";

/**
 * Interval in milliseconds at which lanes (deliveries to destinations) check the catalog (sources,
 * destinations, connections, links to code) for changes, when nothing else wakes the lanes.
 */
export const TOPOLOGY_POLL_MS = 100;
/**
 * Timer that does the regular work of all partitions every `TOPOLOGY_POLL_MS`, such as the check
 * for changes. One timer is shared, because each timer wakes the process.
 */
const topologyPoll = new SharedPoll(TOPOLOGY_POLL_MS);
/** Interval in milliseconds at which the oldest records of the event logs are deleted (trimmed). */
const TRIM_INTERVAL_MS = 10_000;

/**
 * A running partition: the lanes that deliver the events of some users, one lane for each
 * destination, and the ledger that stores the lanes' progress.
 */
export type PartitionPipeline = ReturnType<typeof openPartition>;

export interface PartitionPipelineParts extends LaneRegistryParts {
  /** Log name → reader of this log, for all logs of the partition. */
  readers: ReadonlyMap<string, LogReader>;
  deadLetterBounds: DeadLetterBounds;
  /** Returns the ledgers (stores of delivery progress) of all partitions, including this one's. */
  ledgers(): readonly Ledger[];
  retention: Retention;
  repetitions: Repetitions;
  /** Positions of the logs' records that a newer pixelmill wrote. Readers stop at such records. */
  held: HeldRecords;
}

/** Opens a partition and a lane per destination with connections, replays or requeued letters. */
export function openPartition(parts: PartitionPipelineParts) {
  const { readers, repetitions, held } = parts;
  const lanes = new LaneRegistry(parts);
  const wake = (ids: readonly string[]) => lanes.refreshReplays(ids);
  const keptFrom = (log: string) => repetitions.neededFrom(log);
  const trimmer = createTrimmer({ ...parts, lanes, keptFrom });
  const sweep = createDeadLetterRetention({ ...parts, bounds: parts.deadLetterBounds });
  const letterJobs = new LetterJobRunner({ ...parts, wake });

  lanes.refresh();
  const stopPolling = topologyPoll.add(() => {
    lanes.refresh();
    lanes.continueCheckpoint();
    lanes.restSome();
  });
  const trim = setInterval(() => {
    void trimmer.run();
    void sweep.run();
    void repetitions.checkpoint().catch((err) => {
      parts.logger.warn({ err }, "positions of the search for repeated events not stored");
    });
    void expireJobs({ ...parts, wake });
  }, TRIM_INTERVAL_MS);

  return {
    /** Names of the logs from which the partition delivers events. */
    logs: () => readers.keys(),
    /**
     * Tells the lanes (deliveries to destinations) about new durable records. `range` names a log,
     * the end of its new records and their sources. Without a range, any log may have new records
     * of any source.
     */
    wake(range?: DurableRange) {
      if (range !== undefined && !readers.has(range.log)) return;
      repetitions.wake(range);
      lanes.wake(range);
    },
    /**
     * Applies changed replay jobs of the ledger (store of delivery progress). New replays of dead
     * letters are started for all destinations. Replays of logged events are started and ended only
     * for the destinations `ids`.
     */
    refreshReplays(ids: readonly string[]) {
      wake(ids);
      letterJobs.startJobs();
    },
    gauges: () => lanes.gauges(),
    /** Names of logs where deliveries wait at records only a newer pixelmill version can read. */
    heldLogs: () => held.logsAbove((log) => lanes.durableLow(log)),
    /**
     * Current state of the delivery to a destination; undefined when nothing is delivered to it.
     */
    gaugesOf: (destinationId: string) => lanes.gaugesOf(destinationId),
    /**
     * Stops the partition: waits up to `drainMs` milliseconds for running deliveries, then aborts
     * those that still run. The caller must close the ledger (store of delivery progress)
     * afterwards, because only this writes the last progress.
     */
    async close(drainMs: number = DRAIN_MS_MAX) {
      stopPolling();
      clearInterval(trim);
      const retention = [trimmer.stop(), sweep.stop()];
      await letterJobs.stop();
      const cut = setTimeout(() => lanes.abort(), drainMs);
      await lanes.stop();
      clearTimeout(cut);
      await Promise.all(retention);
      repetitions.close();
    },
  };
}
