/** What the server and an ingest process tell each other, as JSON over Bun's IPC. */

import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { Gap } from "../log/loss-report.ts";
import type { SegmentBounds } from "../log/writer.ts";

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** The settings of an ingest process, which reads neither configuration nor environment. */
export interface IngestSettings {
  index: number;
  log: IngestLogSettings;
  catalogDirectory: string;
  /**
   * The data plane's port. The socket itself is the descriptor `INGEST_SOCKET_FD`, which all
   * processes share.
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
  /** Partitions, which all processes of all machines write; their opener knows the settings. */
  | { kind: "partitions"; settings: object };

/** An event log of the process's own. */
export interface FileLogSettings extends SegmentBounds {
  kind: "files";
  directory: string;
  /** Sequence numbers below this one are taken in the log. */
  firstSequence: number;
  /**
   * The event logs of other processes, whose records may come before those that this process takes.
   */
  otherLogs: readonly OtherFileLog[];
}

/** What the processes write, and where they tell of it. Processes go by their index. */
export interface IngestLogs {
  /** With which settings the process opens its log when it is started at this moment. */
  settings(index: number): IngestLogSettings;
  /** The process has opened a log of its own, for the first time or again. */
  opened?(index: number, durable: number): void;
  /** Its log is durable below `end`; the new records are of these sources, or of any. */
  written?(index: number, end: number, sources: readonly string[] | undefined): void;
  /** Its log should hold these records, and ends before them. */
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
  /** Every log has told how far it is durable: the process may take pixels. */
  | { type: "listen" }
  /** Stop accepting, answer the requests under way, flush, and exit. */
  | { type: "close" };

export type IngestMessage =
  /** The process's log can be written; a log of its own is durable up to `durable`. */
  | { type: "opened"; durable?: number }
  | { type: "listening" }
  /** The process could not start, and exits. */
  | { type: "failed"; message: string }
  /**
   * `sources` names the sources of the new records, and perhaps others; absent when there are too
   * many to name.
   */
  | { type: "durable"; sequence: number; sources?: string[] }
  /** The process's log should hold these records, and ends before them. */
  | { type: "missing"; from: number; to: number }
  | { type: "health"; healthy: boolean }
  /** The process lives. */
  | { type: "pulse" }
  | { type: "metrics"; id: number; metrics: ProcessMetrics };
