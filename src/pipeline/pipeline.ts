import type { Live } from "../catalog/live-view.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import { timeOfRecord } from "../event/record.ts";
import type { DurableRange, LogReader } from "../log/event-log.ts";
import type { Positions } from "../log/positions.ts";
import type { TimeOf } from "../log/time-search.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createDeadLetters, type DeadLetters } from "./dead-letters/dead-letters.ts";
import type { DeadLetterBounds } from "./dead-letters/letter-retention.ts";
import { mergeDeadLetters } from "./dead-letters/merge-dead-letters.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { LiveTail, type RemoteTail, type TailSubscriptions } from "./live-tail.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { gaugesByDestination, mergeGauges } from "./monitoring/lane-gauges.ts";
import type { MinuteCounts } from "./monitoring/lane-history.ts";
import { type LaneStatus, laneStatus } from "./monitoring/lane-status.ts";
import { createLaneMetrics } from "./monitoring/metrics.ts";
import { openPartition, type PartitionPipeline } from "./partition-pipeline.ts";
import { SharedReader, type SharedReaderParts } from "./reading/shared-reader.ts";
import { registerReplayMetrics } from "./replays/metrics.ts";
import { createReplayJobs, type ReplayJobs } from "./replays/replay-jobs.ts";
import { createRetentionMetrics } from "./retention/metrics.ts";
import { type Disk, noRetention, Retention, type RetentionBounds } from "./retention/retention.ts";
import { Search } from "./search/search.ts";

/** Routes, transforms and delivers the events of the logs; each destination has a lane. */
export interface Pipeline {
  /**
   * Ends of the event logs, by name: after every record that was acknowledged before the call.
   * Rejects when they cannot be read at the moment.
   */
  logEnds(): Promise<Positions>;
  /** Resolves once reads of dead letters show all changes that were answered before the call. */
  current(): Promise<void>;
  deadLetters: DeadLetters;
  replays: ReplayJobs;
  liveTail: TailSubscriptions;
  /** Finds events that the logs still hold. */
  search: Search["find"];
  /** The state of a destination's lane; undefined for a destination without a lane. */
  status(destinationId: string): LaneStatus | undefined;
  /** Counts of a destination in the minutes of the last hour. */
  minuteCounts(destinationId: string): MinuteCounts[];
  /** Bytes of all event logs, and the time of receipt of their oldest event. */
  keptEvents(): Promise<{ bytes: number; oldestAt: number | undefined }>;
  /** Why cursors and dead letters are not written at the moment; undefined while they are. */
  failure(): string | undefined;
  /** Lets attempts under way end, commits the cursors, and closes. */
  close(): Promise<void>;
}

/** Runs partitions, which open and close while it runs. */
export interface PipelineHost extends Pipeline {
  /** Starts the lanes of a partition: they read these logs and commit to this ledger. */
  open(ledger: Ledger, readers: PipelineHostParts["readers"]): PartitionPipeline;
}

export interface PipelineHostParts {
  /** The catalog's `live`: topology is polled, programs are read per batch. */
  live: Live;
  sandbox: Sandbox;
  /** Readers of all logs, for search and metrics; may grow while the pipeline runs. */
  readers: ReadonlyMap<string, LogReader>;
  decode: SharedReaderParts["decode"];
  eventOf: SharedReaderParts["eventOf"];
  kinds: ReadonlyMap<string, DestinationKind>;
  /** Ledgers of all partitions, also of those that run elsewhere. Their opener closes them. */
  ledgers(): readonly Ledger[];
  /**
   * Calls the listener whenever a log has more durable records; returns the function that ends
   * this. A call without a range means that there may be records of any source.
   */
  onDurable(listener: (range?: DurableRange) => void): () => void;
  /** See `LaneRegistryParts.isOnHold`. */
  isOnHold?(): boolean;
  /** Age at which an event that cannot be delivered becomes a dead letter. */
  retryWindowMs: number;
  /** Bounds beyond which dead letters are dropped; absent is no bound. */
  deadLetterBounds?: DeadLetterBounds;
  /** Live tail subscribers at other nodes. */
  remoteTail?: RemoteTail;
  /** See `Pipeline.logEnds`; by default the ends that the readers know. */
  logEnds?(): Promise<Positions>;
  /** Bounds up to which delivered events are kept; absent: none are. */
  retentionBounds?: RetentionBounds;
  /** Reads the time of receipt from an encoded record. */
  timeOf?: TimeOf;
  /** The disk of the event logs; absent where other machines hold them. */
  disk?(): Disk;
  logger: Logger;
  metrics: Metrics;
  clock?: Clock;
}

/** Runs the lanes of partitions that open and close. */
export function createPipelineHost(parts: PipelineHostParts): PipelineHost {
  const { live, logger, ledgers, clock = systemClock } = parts;
  const { deadLetterBounds = { countMax: 0, ageMsMax: 0 } } = parts;
  /** Open partitions, each with its ledger. */
  const partitions = new Map<PartitionPipeline, Ledger>();
  const memory = new MemoryBudget();
  const metrics = createLaneMetrics(parts.metrics, {
    lanes: () => gaugesByDestination(partitions.keys().flatMap((partition) => partition.gauges())),
    deadLetters: () => partitions.values().flatMap((ledger) => ledger.letters.counts()),
    heldBytes: () => memory.bytes,
  });
  const logs = new SharedReader({ ...parts, metrics });
  const partitionLogs = { keys: () => partitions.keys().flatMap((partition) => partition.logs()) };
  const liveTail = new LiveTail(logs.subset(partitionLogs), live, parts.remoteTail);
  const search = new Search({ readers: parts.readers, clock });
  const { timeOf = timeOfRecord, retentionBounds = noRetention } = parts;
  const kept = createRetentionMetrics(parts.metrics, parts.readers, retentionBounds, timeOf);
  const replayedLogs = new SharedReader({ ...parts, metrics });
  const stopListening = parts.onDurable((range) => {
    for (const partition of partitions.keys()) partition.wake(range);
    liveTail.advance().catch((error) => logger.error({ err: error }, "live tail cannot read"));
  });
  const logEnds = parts.logEnds ?? (async () => logs.ends());
  registerReplayMetrics(parts.metrics, () =>
    [...partitions.values()].flatMap((ledger) => ledger.jobs.running()),
  );
  const wake = (ids: readonly string[]) => {
    for (const partition of partitions.keys()) partition.refreshReplays(ids);
  };

  return {
    open(ledger, readers) {
      const retention = new Retention({
        bounds: retentionBounds,
        readers,
        timeOf,
        clock,
        logger,
        disk: parts.disk,
        onGivenUp: (bytes) => kept.givenUp.inc(bytes),
      });
      const partition = openPartition({
        ...parts,
        logs: logs.subset(readers),
        replayedLogs: replayedLogs.subset(readers),
        liveTail,
        clock,
        metrics,
        memory,
        deadLetterBounds,
        ledger,
        readers,
        retention,
      });
      partitions.set(partition, ledger);
      return {
        ...partition,
        async close(drainMs) {
          await partition.close(drainMs);
          partitions.delete(partition);
        },
      };
    },
    logEnds,
    async current() {
      await Promise.all(ledgers().map((ledger) => ledger.current()));
    },
    replays: createReplayJobs({ ...parts, timeOf, logEnds, wake, clock }),
    deadLetters: mergeDeadLetters(() =>
      ledgers().map((ledger) => createDeadLetters(ledger, wake, clock.now)),
    ),
    liveTail,
    search: (query, signal) => search.find(query, signal),
    status(destinationId) {
      const lane = mergeGauges(
        [...partitions.keys()].flatMap((partition) => partition.gaugesOf(destinationId) ?? []),
      );
      return lane && laneStatus(lane, { clock, metrics });
    },
    minuteCounts: (destinationId) => metrics.histories.minutes(destinationId, clock.now()),
    keptEvents: () => kept.keptEvents(),
    failure: () =>
      ledgers()
        .values()
        .map((ledger) => ledger.failure())
        .find((trouble) => trouble !== undefined),
    async close() {
      stopListening();
      await Promise.all(partitions.keys().map((partition) => partition.close()));
    },
  };
}

export interface PipelineParts extends Omit<PipelineHostParts, "ledgers"> {
  /** The pipeline closes the ledger when it is closed. */
  ledger: Ledger;
}

/** Starts a lane for every destination that has a connection, over all logs. */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { ledger, readers } = parts;
  const host = createPipelineHost({ ...parts, ledgers: () => [ledger] });
  host.open(ledger, readers);
  return {
    ...host,
    async close() {
      await host.close();
      await ledger.close();
    },
  };
}
