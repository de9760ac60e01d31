import type { Live } from "../catalog/catalog.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import { timeOfRecord } from "../event/record.ts";
import type { DurableRange, LogReader } from "../log/event-log.ts";
import type { Positions } from "../log/positions.ts";
import type { TimeOf } from "../log/time-search.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import { createDeadLetters } from "./dead-letters/dead-letters.ts";
import type { DeadLetterBounds } from "./dead-letters/letter-retention.ts";
import { mergeDeadLetters } from "./dead-letters/merge-dead-letters.ts";
import { Holdings } from "./holdings.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { LiveTail, type RemoteTail, type TailSubscriptions } from "./live-tail.ts";
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

/** Routes, transforms and delivers what the event logs hold; each destination has a lane. */
export interface Pipeline {
  /**
   * Where the event logs end, by name: beyond every record that was acknowledged before the call.
   * Rejects when that cannot be known at the moment.
   */
  logEnds(): Promise<Positions>;
  /** Resolves once dead letters can be read as they were at any answer before the call. */
  current(): Promise<void>;
  deadLetters: DeadLetters;
  replays: ReplayJobs;
  liveTail: TailSubscriptions;
  /** Finds events that the logs still hold. */
  search: Search["find"];
  /** How a destination's lane is; undefined for one that nothing is owed to. */
  status(destinationId: string): LaneStatus | undefined;
  /** What was counted of a destination in the minutes of the last hour. */
  counted(destinationId: string): MinuteCounts[];
  /** Bytes of all event logs, and when their oldest event was received, if they hold one. */
  keptEvents(): Promise<{ bytes: number; oldestAt: number | undefined }>;
  /** Why cursors and dead letters are not written at the moment; undefined while they are. */
  trouble(): string | undefined;
  /** Lets attempts under way end, commits the cursors, and closes. */
  close(): Promise<void>;
}

/** What runs the lanes of several logs, some of the time. */
export interface PipelineHost extends Pipeline {
  /** Starts the lanes over some of the logs, which settle in this ledger. */
  open(ledger: Ledger, readers: PipelineHostParts["readers"]): PartitionPipeline;
}

export interface PipelineHostParts {
  /** The catalog's `live`: topology is polled, programs are asked for per batch. */
  live: Live;
  sandbox: Sandbox;
  /** Of all logs, by name, for those who look; may grow while the pipeline runs. */
  readers: ReadonlyMap<string, LogReader>;
  decode: SharedReaderParts["decode"];
  eventOf: SharedReaderParts["eventOf"];
  kinds: ReadonlyMap<string, DestinationKind>;
  /** Of all logs, also of those that have no line here. Their opener closes them. */
  ledgers(): readonly Ledger[];
  /**
   * Calls the listener whenever a log has more durable records; returns the function that ends
   * this. A call without news means that there may be records of any source.
   */
  onDurable(listener: (news?: DurableRange) => void): () => void;
  /**
   * While this is true nothing is delivered, and everything is kept. Not asked again once it was
   * false.
   */
  held?(): boolean;
  /** Age at which an event that cannot be delivered becomes a dead letter. */
  retryWindowMs: number;
  /** Bounds beyond which dead letters are dropped; absent is no bound. */
  deadLetterBounds?: DeadLetterBounds;
  /** Those who follow the live tail at other nodes. */
  audience?: RemoteTail;
  /** As `Pipeline.logEnds`; by default what the readers know. */
  logEnds?(): Promise<Positions>;
  /** Bounds up to which delivered events are kept; absent: none are. */
  retentionBounds?: RetentionBounds;
  /** When a record was received, as its encoded form tells. */
  timeOf?: TimeOf;
  /** The disk of the event logs; absent where they lie elsewhere. */
  disk?(): Disk;
  logger: Logger;
  metrics: Metrics;
  clock?: Clock;
}

/** Runs the lanes of logs that come and go. */
export function createPipelineHost(parts: PipelineHostParts): PipelineHost {
  const { live, logger, ledgers, clock = systemClock } = parts;
  const { deadLetterBounds = { countMax: 0, ageMsMax: 0 } } = parts;
  /** Those that are open, with the ledger of each. */
  const lines = new Map<PartitionPipeline, Ledger>();
  const holdings = new Holdings();
  const metrics = createLaneMetrics(
    parts.metrics,
    () => gaugesByDestination(lines.keys().flatMap((line) => line.gauges())),
    () => lines.values().flatMap((ledger) => ledger.letters.counts()),
    () => holdings.bytes,
  );
  const logs = new SharedReader({ ...parts, metrics });
  const followed = { keys: () => lines.keys().flatMap((line) => line.logs()) };
  const liveTail = new LiveTail(logs.of(followed), live, parts.audience);
  const search = new Search({ readers: parts.readers, clock });
  const { timeOf = timeOfRecord, retentionBounds = noRetention } = parts;
  const kept = createRetentionMetrics(parts.metrics, parts.readers, retentionBounds, timeOf);
  const replayedLogs = new SharedReader({ ...parts, metrics });
  const stopListening = parts.onDurable((news) => {
    for (const line of lines.keys()) line.wake(news);
    liveTail
      .advance()
      .catch((error) => logger.error({ err: error }, "The live tail cannot read on"));
  });
  const logEnds = parts.logEnds ?? (async () => logs.ends());
  registerReplayMetrics(parts.metrics, () =>
    [...lines.values()].flatMap((ledger) => ledger.jobs.running()),
  );
  const wake = (ids: readonly string[]) => {
    for (const line of lines.keys()) line.replay(ids);
  };

  return {
    open(ledger, readers) {
      const retention = new Retention({
        ...{ bounds: retentionBounds, readers, timeOf, clock, logger, disk: parts.disk },
        onGivenUp: (bytes) => kept.givenUp.inc(bytes),
      });
      const shared = { ...parts, liveTail, clock, metrics, holdings, deadLetterBounds };
      const read = { logs: logs.of(readers), replayedLogs: replayedLogs.of(readers) };
      const line = openPartition({ ...shared, ...read, ledger, readers, retention });
      lines.set(line, ledger);
      return {
        ...line,
        async close(drainMs) {
          await line.close(drainMs);
          lines.delete(line);
        },
      };
    },
    logEnds,
    async current() {
      await Promise.all(ledgers().map((ledger) => ledger.current()));
    },
    replays: createReplayJobs({ ...parts, timeOf, logEnds, wake, clock }),
    deadLetters: mergeDeadLetters(() =>
      ledgers().map((it) => createDeadLetters(it, wake, clock.now)),
    ),
    liveTail,
    search: (query, signal) => search.find(query, signal),
    status(destinationId) {
      const lane = mergeGauges(
        [...lines.keys()].flatMap((line) => line.gaugesOf(destinationId) ?? []),
      );
      return lane && laneStatus(lane, { clock, metrics });
    },
    counted: (destinationId) => metrics.histories.counted(destinationId, clock.now()),
    keptEvents: () => kept.keptEvents(),
    trouble: () =>
      ledgers()
        .values()
        .map((ledger) => ledger.trouble())
        .find((trouble) => trouble !== undefined),
    async close() {
      stopListening();
      await Promise.all(lines.keys().map((line) => line.close()));
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
  const lines = createPipelineHost({ ...parts, ledgers: () => [ledger] });
  lines.open(ledger, readers);
  return {
    ...lines,
    async close() {
      await lines.close();
      await ledger.close();
    },
  };
}
