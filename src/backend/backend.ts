import type { ClusterFigures, PeerNodes } from "../api/deps.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { IngestLogs } from "../ingest/messages.ts";
import type { EventLogs } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pipeline, PipelineParts } from "../pipeline/pipeline.ts";
import type { RetentionBounds } from "../pipeline/retention/retention.ts";
import type { Config } from "../settings/reader.ts";

/** Objects that every function that opens a part of the server needs. */
export interface StartContext {
  config: Config;
  logger: Logger;
  metrics: Metrics;
  /** Close functions of the opened parts; the server calls them in reverse order when it stops. */
  stack: AsyncDisposableStack;
  /** Requests that the server stops; `reason` is a sentence for the log. */
  requestStop(reason: string): void;
}

/** Pipeline options that do not depend on the backend. */
export type PipelineConfig = Omit<
  PipelineParts,
  | ("live" | "ledger" | "readers" | "onDurable" | "logEnds" | "audience" | "disk")
  | ("logger" | "metrics")
>;

/**
 * Storage of a server: its catalog, its event logs, and the pipeline that reads them. A standalone
 * server stores these on its own disk, and the nodes of a cluster share them in Kafka.
 */
export interface Backend {
  catalog: Catalog;
  /** Directory from which the ingest processes of this server read the catalog. */
  catalogDirectory: string;
  logs: EventLogs & IngestLogs;
  /** Starts the pipeline. Must be called once. */
  startPipeline(work: PipelineConfig): Pipeline;
  /** Joins the cluster, once all parts of the server are open. Does nothing when standalone. */
  join(controlPlaneUrl: string): void;
  /** Leaves the cluster and hands its partitions to other nodes. Does nothing when standalone. */
  leave(): Promise<void>;
  /** Readiness checks by name. */
  checks(): Record<string, Check>;
  /** Warnings about possible data loss. */
  warnings(): string[];
  /** Reads the nodes and partitions of the cluster; undefined for a standalone server. */
  nodes?(): Promise<ClusterFigures>;
  /** Sends questions to the other nodes; undefined for a standalone server. */
  others?: PeerNodes;
}

export interface Check {
  ok: boolean;
  /** A sentence about the state; present whenever `ok` is false. */
  message?: string;
}

/** Reads from the settings how long, and up to what size, delivered events are kept. */
export function retentionBounds(config: Config): RetentionBounds {
  return {
    ageMsMax: config["events.retention.age"] * 1_000,
    bytesMax: config["events.retention.bytes"],
  };
}
