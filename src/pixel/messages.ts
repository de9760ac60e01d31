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
  catalogDirectory: string;
  host: string;
  port: number;
  /** Whether other ingest processes listen on the same port. */
  reusePort: boolean;
  trustedProxies: readonly string[];
  recordClientAddress: boolean;
  /** This process's share of the rate per write key; 0 is no limit. */
  pixelsPerSecondMax: number;
  logLevel: string;
}

export type ToIngest =
  | ({ type: "serve" } & IngestSettings)
  | { type: "metrics"; id: number }
  /** Stop accepting, answer what is under way, flush, exit. */
  | { type: "close" };

export type FromIngest =
  | { type: "listening"; url: string; durable: number }
  /** It could not start; it exits. */
  | { type: "failed"; message: string }
  | { type: "durable"; sequence: number }
  /** Its log should hold these records, and ends before them. */
  | { type: "missing"; from: number; to: number }
  | { type: "health"; healthy: boolean }
  /** It lives. */
  | { type: "pulse" }
  | { type: "metrics"; id: number; metrics: ProcessMetrics };
