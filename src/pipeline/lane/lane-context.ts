import type { Live } from "../../catalog/catalog.ts";
import type { Logger } from "../../observe/log.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Clock } from "../clock.ts";
import type { Holdings } from "../holdings.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LiveTail } from "../live-tail.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LogSet } from "../reading/shared-reader.ts";

/** What all lanes share. */
export interface LaneContext {
  logs: LogSet;
  /** The same logs for replays, which read elsewhere: what lanes share is not driven out. */
  replayedLogs: LogSet;
  live: Live;
  sandbox: Sandbox;
  ledger: Ledger;
  liveTail: LiveTail;
  clock: Clock;
  logger: Logger;
  metrics: LaneMetrics;
  holdings: Holdings;
  retryWindowMs: number;
  /** Takes up what changed in the catalog; cheap when nothing did. */
  refresh(): void;
}
