import type { Live } from "../../catalog/live-view.ts";
import type { Logger } from "../../observe/log.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Clock } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LiveTail } from "../live-tail.ts";
import type { MemoryBudget } from "../memory-budget.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LogSet } from "../reading/shared-reader.ts";

/** The parts that all lanes of a partition share. */
export interface LaneContext {
  logs: LogSet;
  /** The same logs with a cache of their own: replays must not evict what live events share. */
  replayedLogs: LogSet;
  live: Live;
  sandbox: Sandbox;
  ledger: Ledger;
  liveTail: LiveTail;
  clock: Clock;
  logger: Logger;
  metrics: LaneMetrics;
  memory: MemoryBudget;
  retryWindowMs: number;
  /** Applies changes of the catalog to all lanes; cheap when nothing changed. */
  refresh(): void;
}
