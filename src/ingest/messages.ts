/** Messages between the server and an ingest process. They are sent as JSON over Bun's IPC. */

import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { LogHealth } from "../log/event-log.ts";
import type { Gap } from "../log/loss-report.ts";
import type { SegmentBounds } from "../log/writer-options.ts";
import type { TlsKeys } from "../settings/files/tls-files.ts";

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/**
 * The settings of an ingest process. The server sends them, because the process reads neither the
 * configuration file nor environment variables.
 */
export interface IngestSettings extends ChangeableIngestSettings {
  index: number;
  log: IngestLogSettings;
  catalogDirectory: string;
  /**
   * Port on which pixels and the events of SDKs are received. The process inherits the listening
   * socket as file descriptor `INGEST_SOCKET_FD`; all ingest processes accept from it.
   */
  port: number;
  /** CIDRs of proxies whose `X-Forwarded-For` header is trusted. */
  trustedProxies: readonly string[];
  recordClientAddress: boolean;
  /** URL under which browsers reach the port for events (data plane); absent when it is not set. */
  publicUrl?: string | undefined;
}

/** The settings of an ingest process that may change while it runs. */
export interface ChangeableIngestSettings {
  /**
   * Maximum number of events (pixels and SDK events) per second that this process accepts from one
   * source: its share of the configured rate. 0 means no limit. Further events are refused with
   * status 429.
   */
  eventsPerSecondMax: number;
  /** Largest number of open connections of one client network; 0 means no limit. */
  connectionsPerNetworkMax: number;
  logLevel: string;
  /** Certificate and key of the port for events (data plane); absent when it does not speak TLS. */
  tls?: TlsKeys | undefined;
}

/** Settings of the event log to which an ingest process appends records. */
type IngestLogSettings =
  | FileLogSettings
  /**
   * Settings of a log of Kafka partitions, to which the ingest processes of all nodes append.
   * `settings` is passed unchanged to the function that opens the log (`OpenPartitions`).
   */
  | { kind: "partitions"; settings: object };

/** Settings of a log that one ingest process writes to a directory of its own. */
export interface FileLogSettings extends SegmentBounds {
  kind: "files";
  directory: string;
  /** Lowest sequence number that the process may assign. */
  firstSequence: number;
  /**
   * Event logs of the other ingest processes. Each record that this process writes stores the ends
   * of these logs, which gives events an order across logs.
   */
  otherLogs: readonly { log: number; directory: string }[];
}

/**
 * Functions of the server for the event logs of its ingest processes. All except `settings` are
 * called when an ingest process reports a change of its log. `index` is the number of the process,
 * from 0.
 */
export interface IngestLogs {
  /** Returns the log settings for an ingest process that is about to start. */
  settings(index: number): IngestLogSettings;
  /**
   * Called each time an ingest process has opened its own log. `durable` is the sequence number
   * after the log's last durable record.
   */
  opened?(index: number, durable: number): void;
  /**
   * Called when all records below the sequence number `end` are durable in the log of process
   * `index`. `sources` has at least the source ids of records that became durable since the last
   * call for this log; undefined if unknown.
   */
  written?(index: number, end: number, sources: readonly string[] | undefined): void;
  /**
   * Called when an ingest process finds that records at the end of its log are missing, although
   * they were durable. `gap` holds their sequence numbers.
   */
  missing?(index: number, gap: Gap): void;
}

/**
 * Number of events (pixels and events of SDKs) that were stored in the event log for delivery, and
 * number of those that were refused with status 503 because the log did not accept them.
 */
export interface IngestOutcomes {
  stored: number;
  refused: number;
}

/** Source id, and the number of its events that were stored for delivery. */
export type ReceivedCount = readonly [sourceId: string, count: number];

/** File descriptor of the listening socket in each ingest process. */
export const INGEST_SOCKET_FD = 3;

export type ServerMessage =
  | ({ type: "serve" } & IngestSettings)
  | { type: "metrics"; id: number }
  /** New values of the settings that may change while the process runs. */
  | ({ type: "configure" } & ChangeableIngestSettings)
  /** Permission to accept events: the logs of all ingest processes are open. */
  | { type: "listen" }
  /** The process must ask its clients to close their connections. It still accepts new ones. */
  | { type: "drain" }
  /** The process must stop accepting, respond to its requests, flush its log, and exit. */
  | { type: "close" };

export type IngestMessage =
  /**
   * The process has opened its log. `durable` is the sequence number after the last durable record;
   * it is absent when other processes write the log too.
   */
  | { type: "opened"; durable?: number }
  | { type: "listening" }
  /** The process could not start, and exits. */
  | { type: "failed"; message: string }
  /**
   * All records below `sequence` are durable. `sources` has at least the source ids of the records
   * that became durable since the last such message; absent if there are too many for one message.
   */
  | { type: "durable"; sequence: number; sources?: string[] }
  /**
   * Records at the end of the process's log are missing, although they were durable. Their sequence
   * numbers are from `from` (inclusive) to `to` (exclusive).
   */
  | { type: "missing"; from: number; to: number }
  | { type: "health"; health: LogHealth }
  /**
   * Pulse, sent every `INGEST_PULSE_MS` to show that the process is not blocked. `outcomes` has the
   * numbers of events that were stored or refused since the last pulse; `received` has the number
   * of stored events for each source.
   */
  | { type: "pulse"; outcomes: IngestOutcomes; received?: ReceivedCount[] }
  | { type: "metrics"; id: number; metrics: ProcessMetrics };
