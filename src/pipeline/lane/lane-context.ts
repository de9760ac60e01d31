import type { Live } from "../../catalog/live.ts";
import type { Logger } from "../../observe/log.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import type { Clock } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LiveTail } from "../live-tail.ts";
import type { MemoryBudget } from "../memory-budget.ts";
import type { CodeLogs } from "../monitoring/code-logs.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import type { LatestOutcomes } from "../recent/latest-outcomes.ts";
import type { BatchPace } from "./batch-pace.ts";

/** Objects that all lanes of a partition share. A lane delivers the events of one destination. */
export interface LaneContext {
  logs: LogSet;
  /**
   * Readers of the logs in `logs` with a separate cache, for replays. Replays read old records,
   * which would evict the recent records from a shared cache that all lanes read.
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
