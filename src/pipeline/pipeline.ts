import { TimeSlicer } from "../concurrency/time-slicer.ts";
import { timeOfRecord } from "../event/record.ts";
import { MinuteCounters } from "../figures/minute-counters.ts";
import type { DurableRange } from "../log/event-log.ts";
import type { Positions } from "../log/positions.ts";
import type { TimeOf } from "../log/time-search.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type Clock, systemClock } from "./clock.ts";
import { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { DeadLetterBounds } from "./dead-letters/letter-retention.ts";
import { BatchPace } from "./lane/batch-pace.ts";
import type { LaneRegistryParts } from "./lane-registry.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { LiveTail, type RemoteTail, type TailSubscriptions } from "./live-tail.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { type CodeLogFilter, CodeLogs } from "./monitoring/code-logs.ts";
import { pipelineFigures } from "./monitoring/lane-figures.ts";
import { mergeGauges } from "./monitoring/lane-gauges.ts";
import { laneStatus } from "./monitoring/lane-status.ts";
import { createLaneMetrics } from "./monitoring/metrics.ts";
import { TenantLabels } from "./monitoring/tenant-labels.ts";
import { openPartition, type PartitionPipeline } from "./partition-pipeline.ts";
import { HeldRecords, newerVersionWarning } from "./reading/held-records.ts";
import { SharedReader, type SharedReaderParts } from "./reading/shared-reader.ts";
import { LatestOutcomes, type RecentFilter } from "./recent/latest-outcomes.ts";
import { repetitionSearch } from "./repetitions/repetition-search.ts";
import { registerReplayMetrics } from "./replays/metrics.ts";
import { createReplayJobs } from "./replays/replay-jobs.ts";
import { createRetentionMetrics } from "./retention/metrics.ts";
import { type Disk, noRetention, Retention, type RetentionBounds } from "./retention/retention.ts";
import { eventOutcomes } from "./search/event-outcomes.ts";
import { createSearch, type FoundEvent } from "./search/search.ts";

/**
 * Delivers the events of the logs to the destinations. Each destination has a lane, which reads
 * events, runs user code over them and sends the results.
 */
export interface Pipeline extends Omit<PipelineHost, "open" | "liveTail"> {
  liveTail: TailSubscriptions;
}

/** A pipeline whose partitions (each the events of some users) open and close while it runs. */
export type PipelineHost = ReturnType<typeof createPipelineHost>;

export interface PipelineHostParts
  extends Omit<SharedReaderParts, "metrics">,
    Pick<LaneRegistryParts, "live" | "sandbox" | "kinds" | "isOnHold" | "catalogCurrent"> {
  /**
   * Returns the ledgers (the stores of delivery progress) of all partitions, including partitions
   * that run on other nodes. The pipeline does not close these ledgers.
   */
  ledgers(): readonly Ledger[];
  /**
   * Calls the listener each time that a log has new durable records. Without `range`, any log may
   * have new records of any source. Returns a function that removes the listener.
   */
  onDurable(listener: (range?: DurableRange) => void): () => void;
  /** Age in milliseconds at which an event that cannot be delivered becomes a dead letter. */
  retryWindowMs: number;
  /** Limits above which the oldest dead letters are deleted. Absent: no limits. */
  deadLetterBounds?: DeadLetterBounds;
  /**
   * Exchanges messages about events with other nodes, so that users who watch live events see those
   * of all nodes. Absent: this is the only node.
   */
  remoteTail?: RemoteTail;
  /**
   * Reads for each log a sequence number above all records acknowledged before the call. Rejects
   * when the ends cannot be read. Absent: the ends that the log readers know are used.
   */
  logEnds?(): Promise<Positions>;
  /**
   * Limits on the age and the total size of the delivered events that the logs keep. Absent: the
   * logs keep no delivered events.
   */
  retentionBounds?: RetentionBounds;
  /** Reads the time of receipt from an encoded record. Absent: `timeOfRecord` is used. */
  timeOf?: TimeOf;
  /** Reads size and free space of the logs' disk. Absent when other machines hold the logs. */
  disk?(): Disk;
  /** Counts by source of stored events and of repeated messageIds. Absent: they are not counted. */
  received?: MinuteCounters;
  metrics: Metrics;
  /**
   * Whether metrics have labels with ids and names of workspaces, destinations and code. The
   * default is true.
   */
  metricsOfTenants?: boolean;
  clock?: Clock;
}

/** Creates a pipeline without partitions; `open` adds them. */
export function createPipelineHost(parts: PipelineHostParts) {
  const { live, logger, ledgers, clock = systemClock } = parts;
  const { deadLetterBounds = { countMax: 0, ageMsMax: 0 } } = parts;
  /** Open partition → its ledger (store of delivery progress). */
  const partitions = new Map<PartitionPipeline, Ledger>();
  const memory = new MemoryBudget();
  const pace = new BatchPace();
  const gauges = {
    lanes: () => partitions.keys().flatMap((partition) => partition.gauges()),
    deadLetters: () => partitions.values().flatMap((ledger) => ledger.letters.counts()),
    heldBytes: () => memory.bytes,
    heldLogs: () => partitions.keys().flatMap((partition) => partition.heldLogs()),
  };
  const gaugesOf = (destinationId: string) =>
    mergeGauges(
      [...partitions.keys()].flatMap((partition) => partition.gaugesOf(destinationId) ?? []),
    );
  const tenants = new TenantLabels(parts.metricsOfTenants ?? true);
  const metrics = createLaneMetrics(parts.metrics, gauges, tenants);
  const figureSources = {
    histories: metrics.histories,
    runs: metrics.runs,
    received: parts.received ?? new MinuteCounters(0),
    workspaceOf: (id: string) => gaugesOf(id)?.workspace ?? live.destination(id)?.workspaceId,
    workspaceOfSource: (id: string) => live.sourceById(id)?.workspaceId,
  };
  const laneSlices = new TimeSlicer();
  const logs = new SharedReader({ ...parts, metrics });
  const partitionLogs = { keys: () => partitions.keys().flatMap((partition) => partition.logs()) };
  const overrideMembers = [...parts.kinds.values()].flatMap((kind) => kind.overrideMembers ?? []);
  const tailed = logs.subset(partitionLogs);
  const liveTail = new LiveTail(tailed, live, parts.remoteTail, overrideMembers);
  const latestOutcomes = new LatestOutcomes(live, clock, overrideMembers);
  const codeLogs = new CodeLogs(clock);
  const { timeOf = timeOfRecord, retentionBounds = noRetention } = parts;
  const kept = createRetentionMetrics(parts.metrics, parts.readers, retentionBounds, timeOf);
  const searchRepetitions = repetitionSearch({ ...parts, clock, timeOf, metrics });
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
    /** Opens a partition. It reads the logs of `readers` and stores its progress in `ledger`. */
    open(ledger: Ledger, readers: PipelineHostParts["readers"]): PartitionPipeline {
      const retention = new Retention({
        ...parts,
        bounds: retentionBounds,
        readers,
        allReaders: parts.readers,
        timeOf,
        clock,
        onGivenUp: (bytes) => kept.givenUp.inc(bytes),
      });
      const repetitions = searchRepetitions(ledger, readers);
      const held = new HeldRecords();
      const partition = openPartition({
        ...parts,
        repetitions,
        held,
        laneSlices,
        logs: logs.subset(readers, repetitions, held),
        replayedLogs: replayedLogs.subset(readers, repetitions, held),
        liveTail,
        latestOutcomes,
        codeLogs,
        clock,
        metrics,
        memory,
        pace,
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
    /**
     * Waits until this node's dead letters and replay jobs include every change that any node had
     * acknowledged before the call.
     */
    async current() {
      await Promise.all(ledgers().map((ledger) => ledger.current()));
    },
    replays: createReplayJobs({ ...parts, timeOf, logEnds, wake, clock }),
    deadLetters: new DeadLetters(ledgers, wake, clock.now, overrideMembers),
    liveTail,
    /** Returns outcomes of the latest events in this node's memory; see `LatestOutcomes.list`. */
    latestOutcomes: (workspaceId: string, filter: RecentFilter, eventsMax: number) =>
      latestOutcomes.list(workspaceId, filter, eventsMax),
    search: createSearch({ ...parts, clock }),
    /** Resolves with each event's outcomes at the destinations connected to its source. */
    outcomes: (workspaceId: string, events: readonly FoundEvent[]) =>
      eventOutcomes({ live, ledgers }, workspaceId, events),
    /** Returns this node's latest `log(...)` lines of published code; see `CodeLogs.list`. */
    codeLogs: (workspaceId: string, filter: CodeLogFilter, limit: number) =>
      codeLogs.list(workspaceId, filter, limit),
    /** Status of the delivery to a destination; undefined if this node has no lane for it. */
    status(destinationId: string) {
      const lane = gaugesOf(destinationId);
      return lane && laneStatus(lane, { clock, metrics });
    },
    figures: pipelineFigures(figureSources, gauges.lanes),
    keptEvents: kept.keptEvents,
    /** Returns a warning if deliveries wait at records that a newer pixelmill wrote, else none. */
    warnings: () => newerVersionWarning([...gauges.heldLogs()]),
    /** Waits for running deliveries, for a limited time, then stores their progress and stops. */
    async close() {
      stopListening();
      await Promise.all(partitions.keys().map((partition) => partition.close()));
    },
  };
}

export interface PipelineParts extends Omit<PipelineHostParts, "ledgers"> {
  /** Ledger (store of delivery progress) of the only partition. Closing the pipeline closes it. */
  ledger: Ledger;
}

/** Creates a pipeline with one partition, which reads all logs. */
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
