import type { DurableRange, LogReader } from "../log/event-log.ts";
import { DRAIN_MS_MAX } from "../settings/limits.ts";
import {
  createDeadLetterRetention,
  type DeadLetterBounds,
} from "./dead-letters/letter-retention.ts";
import { LaneRegistry, type LaneRegistryParts } from "./lane-registry.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { LaneGauges } from "./monitoring/lane-gauges.ts";
import { expireJobs } from "./replays/expire.ts";
import { LetterJobRunner } from "./replays/letter-job-runner.ts";
import type { Retention } from "./retention/retention.ts";
import { createTrimmer } from "./retention/trimmer.ts";

/** Longest time until a lane sees a changed connection when nothing else wakes it. */
export const TOPOLOGY_POLL_MS = 100;
/** Time between two trims of the event log. */
const TRIM_INTERVAL_MS = 10_000;

/** The running lanes of one partition, with the ledger that they commit to. */
export interface PartitionPipeline {
  /** Names of the logs that the lanes read. */
  logs(): Iterable<string>;
  /** Notes that a log has more durable records; without a range, perhaps of any source. */
  wake(range?: DurableRange): void;
  /** Notes that the ledger holds new replays for these destinations. */
  refreshReplays(destinationIds: readonly string[]): void;
  gauges(): Iterable<LaneGauges>;
  /** The gauges of a destination's lane; undefined for a destination without a lane. */
  gaugesOf(destinationId: string): LaneGauges | undefined;
  /**
   * Lets attempts under way end, for at most `drainMs` milliseconds, and commits the cursors. The
   * ledger stays open.
   */
  close(drainMs?: number): Promise<void>;
}

export interface PartitionPipelineParts extends LaneRegistryParts {
  /** Readers of the partition's logs, by name. */
  readers: ReadonlyMap<string, LogReader>;
  deadLetterBounds: DeadLetterBounds;
  /** The ledgers of all partitions, this one's among them. */
  ledgers(): readonly Ledger[];
  retention: Retention;
}

/** Starts a lane for every destination that has a connection. */
export function openPartition(parts: PartitionPipelineParts): PartitionPipeline {
  const { readers } = parts;
  const lanes = new LaneRegistry(parts);
  const wake = (ids: readonly string[]) => lanes.refreshReplays(ids);
  const trimmer = createTrimmer({ ...parts, lanes });
  const sweep = createDeadLetterRetention({ ...parts, bounds: parts.deadLetterBounds });
  const letterJobs = new LetterJobRunner({ ...parts, wake });

  lanes.refresh();
  const poll = setInterval(() => lanes.refresh(), TOPOLOGY_POLL_MS);
  const trim = setInterval(() => {
    void trimmer.run();
    void sweep.run();
    void expireJobs({ ...parts, wake });
  }, TRIM_INTERVAL_MS);

  return {
    logs: () => readers.keys(),
    wake(range) {
      if (range === undefined || readers.has(range.log)) lanes.wake(range);
    },
    refreshReplays(ids) {
      wake(ids);
      letterJobs.startJobs();
    },
    gauges: () => lanes.gauges(),
    gaugesOf: (destinationId) => lanes.gaugesOf(destinationId),
    async close(drainMs = DRAIN_MS_MAX) {
      clearInterval(poll);
      clearInterval(trim);
      await letterJobs.stop();
      const cut = setTimeout(() => lanes.abort(), drainMs);
      await lanes.stop();
      clearTimeout(cut);
      await Promise.all([trimmer.stop(), sweep.stop()]);
    },
  };
}
