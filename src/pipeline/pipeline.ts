import type { Live } from "../catalog/catalog.ts";
import type { Positions } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import { DRAIN_MS_MAX } from "../limits.ts";
import type { DurableNews, LogReader } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { DeadLetters } from "./dead-letters/dead-letter.ts";
import { createDeadLetters } from "./dead-letters/dead-letters.ts";
import { createDeadLetterRetention, type DeadLetterBounds } from "./dead-letters/retention.ts";
import type { Minute } from "./history.ts";
import { Holdings } from "./holdings.ts";
import type { LaneStatus } from "./lane-status.ts";
import { Lanes } from "./lanes.ts";
import { LiveTail, type Tail } from "./live-tail.ts";
import { createLaneMetrics } from "./metrics.ts";
import { SharedReader, type SharedReaderParts } from "./reading/shared-reader.ts";
import { createTrimmer } from "./reading/trim.ts";
import type { Ledger } from "./settling/ledger.ts";

/** Longest time until a lane sees a changed connection when nothing else wakes it. */
export const TOPOLOGY_POLL_MS = 100;
/** Time between two trims of the event log. */
const TRIM_INTERVAL_MS = 10_000;

/** Routes, transforms and delivers what the event logs hold; each destination has a lane. */
export interface Pipeline {
  /** Where the event logs end now, per log directory name. */
  logEnds(): Positions;
  deadLetters: DeadLetters;
  liveTail: Tail;
  /** How a destination's lane is; undefined for one that nothing is owed to. */
  status(destinationId: string): LaneStatus | undefined;
  /** The last hour of a destination, oldest minute first; the last one is under way. */
  minutes(destinationId: string): Minute[];
  /** Why cursors and dead letters are not written at the moment; undefined while they are. */
  trouble(): string | undefined;
  /** Lets attempts under way end, commits the cursors, and closes. */
  close(): Promise<void>;
}

export interface PipelineParts {
  /** The catalog's `live`: topology is polled, programs are asked for per batch. */
  live: Live;
  sandbox: Sandbox;
  /** By log directory name; may grow while the pipeline runs. */
  readers: ReadonlyMap<string, LogReader>;
  decode: SharedReaderParts["decode"];
  eventOf: SharedReaderParts["eventOf"];
  kinds: ReadonlyMap<string, DestinationKind>;
  /** The pipeline closes the ledger when it is closed. */
  ledger: Ledger;
  /**
   * Calls the listener whenever a log has more durable records; returns the function that ends
   * this. A call without news means that there may be records of any source.
   */
  onDurable(listener: (news?: DurableNews) => void): () => void;
  /**
   * While this is true nothing is delivered, and everything is kept. Not asked again once it was
   * false.
   */
  held?(): boolean;
  /** Age at which an event that cannot be delivered becomes a dead letter. */
  retryWindowMs: number;
  /** Bounds beyond which dead letters are dropped; absent is no bound. */
  deadLetterBounds?: DeadLetterBounds;
  logger: Logger;
  metrics: Metrics;
  clock?: Clock;
}

/** Starts a lane for every destination that has a connection. */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { live, ledger, logger, clock = systemClock } = parts;
  const holdings = new Holdings();
  const metrics = createLaneMetrics(
    parts.metrics,
    () => lanes.gauges(),
    () => ledger.letters.counts(),
    () => holdings.bytes,
  );
  const logs = new SharedReader({ ...parts, metrics });
  const liveTail = new LiveTail(logs, live);
  const shared = { ...parts, logs, liveTail, clock, metrics, holdings };
  const lanes: Lanes = new Lanes({ ...shared, refresh: () => lanes.refresh() });
  const trimmer = createTrimmer({ readers: parts.readers, lanes, clock, logger });
  const bounds = parts.deadLetterBounds ?? { countMax: 0, ageMsMax: 0 };
  const sweep = createDeadLetterRetention({
    bounds,
    ledger,
    clock,
    logger,
    metrics: parts.metrics,
  });

  lanes.refresh();
  const stopListening = parts.onDurable((news) => {
    lanes.wake(news);
    liveTail
      .advance()
      .catch((error) => logger.error({ err: error }, "The live tail cannot read on"));
  });
  const poll = setInterval(() => lanes.refresh(), TOPOLOGY_POLL_MS);
  const trim = setInterval(() => {
    void trimmer.run();
    void sweep.run();
  }, TRIM_INTERVAL_MS);

  return {
    logEnds: () => logs.ends(),
    deadLetters: createDeadLetters(ledger, (ids) => lanes.replay(ids), clock.now),
    liveTail,
    status: (destinationId) => lanes.status(destinationId),
    minutes: (destinationId) => metrics.histories.minutes(destinationId, clock.now()),
    trouble: () => ledger.trouble(),
    async close() {
      stopListening();
      clearInterval(poll);
      clearInterval(trim);
      const cut = setTimeout(() => lanes.abort(), DRAIN_MS_MAX);
      await lanes.stop();
      clearTimeout(cut);
      await Promise.all([trimmer.stop(), sweep.stop()]);
      await ledger.close();
    },
  };
}
