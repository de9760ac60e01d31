import type { Live } from "../../catalog/live.ts";
import type { Destination } from "../../catalog/model.ts";
import type { Logger } from "../../observe/log.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import type { Clock, Notifier } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LiveTail } from "../live-tail.ts";
import type { LaneBudget, MemoryBudget } from "../memory-budget.ts";
import type { FailureRecord } from "../model/lane-record.ts";
import type { CodeLogs } from "../monitoring/code-logs.ts";
import type { HealthLogger } from "../monitoring/health-logger.ts";
import type { LaneLabels } from "../monitoring/lane-gauges.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import type { LatestOutcomes } from "../recent/latest-outcomes.ts";
import type { BatchPace } from "./batch-pace.ts";

/** Objects that all lanes of a partition share. A lane delivers the events of one destination. */
export interface LaneContext {
  logs: LogSet;
  /**
   * Readers of the same logs as `logs`, with a cache of their own, for replays. In a common cache,
   * the old records that replays read would evict the recent records that all lanes read.
   */
  replayedLogs: LogSet;
  live: Live;
  sandbox: Sandbox;
  ledger: Ledger;
  liveTail: LiveTail;
  latestOutcomes: LatestOutcomes;
  /** The log lines that user code writes with `log(...)`. */
  codeLogs: CodeLogs;
  clock: Clock;
  logger: Logger;
  metrics: LaneMetrics;
  memory: MemoryBudget;
  pace: BatchPace;
  retryWindowMs: number;
  /**
   * Applies changes of the catalog (destinations, connections, code) to all lanes of the partition.
   * Cheap when nothing has changed.
   */
  refresh(): void;
}

/** Objects that all parts of one active lane share. */
export interface LaneParts extends Omit<LaneContext, "memory"> {
  labels: LaneLabels;
  reader: LaneReader;
  destination(): Destination;
  health: HealthLogger;
  /** Budget that limits the memory of this lane. */
  memory: LaneBudget;
  /** Notified when there may be new events to take, or free memory for the outputs of user code. */
  work: Notifier;
  /** Whether the active lane runs: true until the lane is stopped, or rests because it is idle. */
  isRunning(): boolean;
  /** Returns what to store about failures for a restart: see `DestinationClient.failureRecord`. */
  failureRecord(): FailureRecord;
  /** Stops the delivery to this destination because an invariant was broken, which is a bug. */
  fail(error: unknown): void;
}
