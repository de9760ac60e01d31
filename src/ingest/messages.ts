/** Messages between the server and an ingest process, as JSON over Bun's IPC. */

import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { Gap } from "../log/loss-report.ts";
import type { SegmentBounds } from "../log/writer-options.ts";

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** The settings of an ingest process, which reads neither configuration nor environment. */
export interface IngestSettings {
  index: number;
  log: IngestLogSettings;
  catalogDirectory: string;
  /**
   * The data plane's port. Its socket is the descriptor `INGEST_SOCKET_FD`, which all processes
   * share.
   */
  port: number;
  trustedProxies: readonly string[];
  recordClientAddress: boolean;
  /** This process's share of the rate per write key; 0 is no limit. */
  pixelsPerSecondMax: number;
  /** Open connections of one client address; 0 is no limit. */
  connectionsPerNetworkMax: number;
  logLevel: string;
}

/** The event log that a process appends to. */
export type IngestLogSettings =
  | FileLogSettings
  /** Partitions, which all processes of all machines write; `OpenPartitions` reads the settings. */
  | { kind: "partitions"; settings: object };

/** An event log that one process alone writes. */
export interface FileLogSettings extends SegmentBounds {
  kind: "files";
  directory: string;
  /** First sequence number that the process may assign. */
  firstSequence: number;
  /** The event logs of other processes, whose ends each record notes. */
  otherLogs: readonly OtherFileLog[];
}

/** The event logs of the processes, as the server sees them. Processes are named by their index. */
export interface IngestLogs {
  /** Settings with which a process that starts now opens its log. */
  settings(index: number): IngestLogSettings;
  /** Called when the process has opened its own log, for the first time or again. */
  opened?(index: number, durable: number): void;
  /** Called when the log is durable below `end`; the new records are of `sources`, or of any. */
  written?(index: number, end: number, sources: readonly string[] | undefined): void;
  /** Called when the log ends before records that it should hold. */
  missing?(index: number, gap: Gap): void;
}

/** The descriptor under which an ingest process inherits the data plane's socket. */
export const INGEST_SOCKET_FD = 3;

export interface OtherFileLog {
  log: number;
  directory: string;
}

export type ServerMessage =
  | ({ type: "serve" } & IngestSettings)
  | { type: "metrics"; id: number }
  /** Every log is open: the process may take pixels. */
  | { type: "listen" }
  /** Stop accepting, answer the requests under way, flush, and exit. */
  | { type: "close" };

export type IngestMessage =
  /** The process's log can be written; a log of its own is durable up to `durable`. */
  | { type: "opened"; durable?: number }
  | { type: "listening" }
  /** The process could not start, and exits. */
  | { type: "failed"; message: string }
  /** `sources` holds the sources of the new records, and perhaps others; absent when too many. */
  | { type: "durable"; sequence: number; sources?: string[] }
  /** The process's log ends before records that it should hold. */
  | { type: "missing"; from: number; to: number }
  | { type: "health"; healthy: boolean }
  /** Sent every `INGEST_PULSE_MS`: the process responds. */
  | { type: "pulse" }
  | { type: "metrics"; id: number; metrics: ProcessMetrics };
