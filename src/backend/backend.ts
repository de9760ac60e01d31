import type { ClusterFigures, PeerNodes } from "../api/deps.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { IngestLogs } from "../ingest/messages.ts";
import type { EventLogs } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pipeline, PipelineParts } from "../pipeline/pipeline.ts";
import type { RetentionBounds } from "../pipeline/retention/retention.ts";
import type { Config } from "../settings/reader.ts";

/** Context that every part is opened with. */
export interface StartContext {
  config: Config;
  logger: Logger;
  metrics: Metrics;
  /** Closes what is open, the last part first, when a later part does not open. */
  stack: AsyncDisposableStack;
  /** Asks for the server's end, with the reason as a sentence. */
  requestStop(reason: string): void;
}

/** Pipeline options that do not depend on the backend. */
export type PipelineConfig = Omit<
  PipelineParts,
  | ("live" | "ledger" | "readers" | "onDurable" | "logEnds" | "audience" | "disk")
  | ("logger" | "metrics")
>;

/**
 * What a server stands on: what is configured, what came in, and the lanes over that. It lies on
 * the server's own disk, or on a log that the nodes of a cluster share.
 */
export interface Backend {
  catalog: Catalog;
  /** Where the processes of this server read the catalog. */
  catalogDirectory: string;
  logs: EventLogs & IngestLogs;
  /** Runs the lanes; called once. */
  startPipeline(work: PipelineConfig): Pipeline;
  /** All parts of the server are open: from here on other nodes know of it. */
  join(controlPlaneUrl: string): void;
  /** Hands what runs here over to other nodes, if there are any. */
  leave(): Promise<void>;
  /** Readiness checks by name. */
  checks(): Record<string, Check>;
  /** Warnings about possible data loss. */
  warnings(): string[];
  /** The nodes of the cluster; undefined where the server is alone. */
  nodes?(): Promise<ClusterFigures>;
  /** Whom else to ask; undefined where the server is alone. */
  others?: PeerNodes;
}

export interface Check {
  ok: boolean;
  /** A sentence; always there when something is not well. */
  message?: string;
}

/** How long events are kept that every destination has. */
export function retentionBounds(config: Config): RetentionBounds {
  return {
    ageMsMax: config["events.retention.age"] * 1_000,
    bytesMax: config["events.retention.bytes"],
  };
}
