import type { ClusterFigures, PeerNodes } from "../api/deps.ts";
import type { AuditBounds } from "../catalog/audit/audit-log.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { type ItemsMax, limitedItems } from "../catalog/management/item-limits.ts";
import type { IngestLogs } from "../ingest/messages.ts";
import type { EventLogs } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { StartSteps } from "../observe/start-steps.ts";
import type { Pipeline, PipelineParts } from "../pipeline/pipeline.ts";
import type { RetentionBounds } from "../pipeline/retention/retention.ts";
import type { Config } from "../settings/keys.ts";
import type { LiveSettings } from "../settings/live-settings.ts";
import type { Store } from "../store/store.ts";

/**
 * Objects that the server passes to the functions that open its parts (catalog, logs, pipeline and
 * others) when it starts.
 */
export interface StartContext {
  /** Settings with which the server started. A reload does not change this object. */
  config: Config;
  /**
   * The current settings, which a reload changes. A part that can apply changed settings while it
   * runs registers itself here.
   */
  settings: LiveSettings;
  logger: Logger;
  metrics: Metrics;
  /**
   * Functions that close the opened parts of the server. They are called in reverse order when the
   * server stops.
   */
  stack: AsyncDisposableStack;
  /** Runs the steps of the server's start. While a step takes long, logs what the step does. */
  steps: StartSteps;
  /** Asks the server to stop. `reason` is a sentence for the log. */
  requestStop(reason: string): void;
}

/**
 * Options of the pipeline (the part of the server that runs user code and delivers events) that are
 * the same on a standalone server and on a cluster node.
 */
export type PipelineConfig = Omit<
  PipelineParts,
  | ("live" | "ledger" | "readers" | "onDurable" | "logEnds" | "audience" | "disk")
  | ("logger" | "metrics")
>;

/**
 * Storage of a server: its catalog, its event logs, and the pipeline that reads the logs. A
 * standalone server has catalog and logs on its own disk; the nodes of a cluster share them in
 * Kafka.
 */
export interface Backend {
  catalog: Catalog;
  /**
   * On a standalone server, the directory of the catalog. On a cluster node, the directory of the
   * node's local copy of the shared catalog. The ingest processes, which accept events over HTTP,
   * read the catalog there.
   */
  catalogDirectory: string;
  logs: EventLogs & IngestLogs;
  /**
   * Starts the pipeline, which reads the event logs, runs user code and delivers events. Must be
   * called once.
   */
  startPipeline(work: PipelineConfig): Pipeline;
  /**
   * Joins the cluster, which then assigns partitions of the event log to this node. Does nothing on
   * a standalone server. Must be called after all parts of the server are open.
   * - `controlPlaneUrl`: shown in the list of nodes
   * - `sandboxTrouble`: returns why this node cannot run user code, or undefined if it can
   */
  join(controlPlaneUrl: string, sandboxTrouble: () => string | undefined): void;
  /**
   * Leaves the cluster, so that other nodes deliver the events of this node's partitions. Does
   * nothing on a standalone server.
   */
  leave(): Promise<void>;
  /**
   * Returns the results of the storage's readiness checks, by name. `delivery`: whether delivery
   * progress and dead letters can be written. `cluster`, only on a cluster node: whether the node
   * can take part in its cluster.
   */
  checks(): Record<string, Check>;
  /** Returns warnings about states in which data may be lost, one sentence each. */
  warnings(): string[];
  /** Storage of the figures (such as counts of events) per minute, hour and day. */
  figures: FigureStorage;
  /**
   * Returns the nodes of the cluster, and for each partition its lag and the node that delivers it.
   * Missing on a standalone server.
   */
  nodes?(): Promise<ClusterFigures>;
  /** Sends questions to the other nodes of the cluster. Missing on a standalone server. */
  others?: PeerNodes;
}

/**
 * Source of the two things that a `FigureRecorder` needs: the store of figures (such as counts of
 * events), and the share of the event log's partitions that this server delivers.
 */
export interface FigureStorage {
  /** Opens the store of figures. Rejects when it cannot be opened; the caller may try again. */
  open(): Promise<Store>;
  /** Returns the share of the event log's partitions that this server delivers, from 0 to 1. */
  share(): number;
}

/** Reads from the settings how many items of each kind a workspace may own. */
export function itemsMaxOf(config: Config): ItemsMax {
  return Object.fromEntries(limitedItems.map((items) => [items, config[`workspace.${items}`]]));
}

/** Reads from the settings how long the entries of the audit log are kept. */
export function auditBoundsOf(config: Config): Partial<AuditBounds> {
  return { ageMs: config["audit.retention"] * 1_000 };
}

export interface Check {
  ok: boolean;
  /** Sentence about the result of the check. Always present when `ok` is false. */
  message?: string;
}

/**
 * Converts the outcome of a readiness check to a `Check`. `trouble` is a sentence that says why the
 * check failed, or undefined if it succeeded.
 */
export function checkOf(trouble: string | undefined): Check {
  return trouble === undefined ? { ok: true } : { ok: false, message: trouble };
}

/** Reads from the settings how long, and up to which size, delivered events are stored. */
export function retentionBounds(config: Config): RetentionBounds {
  return {
    ageMsMax: config["events.retention.age"] * 1_000,
    bytesMax: config["events.retention.bytes"],
  };
}
