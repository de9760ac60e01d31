/** What the server and an ingest process tell each other, as JSON over Bun's IPC. */

import type { MetricObjectWithValues, MetricValue } from "prom-client";

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** All that an ingest process is told; it reads neither configuration nor environment. */
export interface IngestSettings {
  index: number;
  /** Of this process's own event log. */
  directory: string;
  /** Numbers of its records below this are given already. */
  firstSequence: number;
  /** The event logs of other processes: what they hold may come before what this one takes. */
  otherLogs: readonly OtherLog[];
  catalogDirectory: string;
  /** Of the data plane; its socket is the descriptor `INGEST_SOCKET_FD`, of all processes. */
  port: number;
  trustedProxies: readonly string[];
  recordClientAddress: boolean;
  /** This process's share of the rate per write key; 0 is no limit. */
  pixelsPerSecondMax: number;
  /** Open connections of one client address; 0 is no limit. */
  connectionsPerNetworkMax: number;
  logLevel: string;
}

/** Where an ingest process finds the socket that it inherits. */
export const INGEST_SOCKET_FD = 3;

export interface OtherLog {
  log: number;
  directory: string;
}

export type ToIngest =
  | ({ type: "serve" } & IngestSettings)
  | { type: "metrics"; id: number }
  /** Every log tells how far it is durable: pixels may come. */
  | { type: "listen" }
  /** Stop accepting, answer what is under way, flush, exit. */
  | { type: "close" };

export type FromIngest =
  /** Its log can be written, and tells how far it is durable. */
  | { type: "opened"; durable: number }
  | { type: "listening" }
  /** It could not start; it exits. */
  | { type: "failed"; message: string }
  /** `sources`: whose records came, at least; absent when they are too many to name. */
  | { type: "durable"; sequence: number; sources?: string[] }
  /** Its log should hold these records, and ends before them. */
  | { type: "missing"; from: number; to: number }
  | { type: "health"; healthy: boolean }
  /** It lives. */
  | { type: "pulse" }
  | { type: "metrics"; id: number; metrics: ProcessMetrics };
