import type { DurableRange, LogReader } from "../log/event-log.ts";
import { DRAIN_MS_MAX } from "../settings/limits.ts";
import {
  createDeadLetterRetention,
  type DeadLetterBounds,
} from "./dead-letters/letter-retention.ts";
import { Lanes, type LanesParts } from "./lanes.ts";
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

/** The lanes over some logs, and the ledger that they settle in. */
export interface PartitionPipeline {
  /** Names of the logs that the lanes read. */
  logs(): Iterable<string>;
  /** Some log has more durable records; without news, perhaps of any source. */
  wake(news?: DurableRange): void;
  /** The ledger holds new replays for these destinations. */
  replay(destinationIds: readonly string[]): void;
  gauges(): Iterable<LaneGauges>;
  /** Of a destination's lane; undefined for one that nothing is owed to. */
  gaugesOf(destinationId: string): LaneGauges | undefined;
  /**
   * Lets attempts under way end, for so many milliseconds, and commits the cursors. The ledger
   * stays open.
   */
  close(drainMs?: number): Promise<void>;
}

export interface PartitionPipelineParts extends Omit<LanesParts, "refresh"> {
  /** Of the line's logs alone, by name. */
  readers: ReadonlyMap<string, LogReader>;
  deadLetterBounds: DeadLetterBounds;
  /** Of all logs, the line's own among them. */
  ledgers(): readonly Ledger[];
  /** What of the line's logs is kept. */
  retention: Retention;
}

/** Starts a lane for every destination that has a connection. */
export function openPartition(parts: PartitionPipelineParts): PartitionPipeline {
  const { readers, retention, ledger, clock, logger, metrics } = parts;
  const lanes: Lanes = new Lanes({ ...parts, refresh: () => lanes.refresh() });
  const trimmer = createTrimmer({ readers, lanes, retention, clock, logger });
  const sweep = createDeadLetterRetention({
    ...{ bounds: parts.deadLetterBounds, ledgers: parts.ledgers },
    ...{ ledger, clock, logger, metrics },
  });

  const letterJobs = new LetterJobRunner({ ...parts, wake: (ids) => lanes.replay(ids) });

  lanes.refresh();
  const poll = setInterval(() => lanes.refresh(), TOPOLOGY_POLL_MS);
  const trim = setInterval(() => {
    void trimmer.run();
    void sweep.run();
    void expireJobs({ ...parts, wake: (ids) => lanes.replay(ids) });
  }, TRIM_INTERVAL_MS);

  return {
    logs: () => readers.keys(),
    wake(news) {
      if (news === undefined || readers.has(news.log)) lanes.wake(news);
    },
    replay(ids) {
      lanes.replay(ids);
      letterJobs.look();
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
