import { Counter, Gauge } from "prom-client";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Returns a function that counts a response by its status. The counts are transferred to the metric
 * when the metrics are read: calling `inc` with a label for each request would cost a tenth of the
 * request.
 */
export function createStatusCounter(metrics: Metrics | undefined): (status: number) => void {
  const counts = new Map<number, { status: number; answers: number }>();
  if (metrics !== undefined) {
    new Counter({
      name: "pixelmill_pixel_requests_total",
      help: "Pixel requests by status",
      labelNames: ["status"],
      registers: [metrics],
      collect() {
        this.reset();
        for (const { status, answers } of counts.values()) this.inc({ status }, answers);
      },
    });
  }
  return (status) => {
    const counted = counts.get(status);
    if (counted === undefined) counts.set(status, { status, answers: 1 });
    else counted.answers++;
  };
}

/**
 * Milliseconds between two log lines about evicted (closed) connections. With a line for each
 * connection, an attacker could fill the log.
 */
const EVICTION_LINE_MS = 60_000;

const boundOf = {
  network: "ingest.connections of one address",
  all: "connections of this process",
};

/**
 * Returns a function that counts a connection that was evicted or refused because a bound was
 * reached.
 */
export function createEvictionCounter(
  metrics: Metrics | undefined,
  logger: Logger,
): (reason: keyof typeof boundOf) => void {
  const counter =
    metrics &&
    new Counter({
      name: "pixelmill_pixel_connections_ended_total",
      help: "Connections that were closed to make room, for their network or for all",
      labelNames: ["reason"],
      registers: [metrics],
    });
  const counts = { network: 0, all: 0 };
  const loggedAt = { network: Number.NEGATIVE_INFINITY, all: Number.NEGATIVE_INFINITY };
  return (reason) => {
    counter?.inc({ reason });
    counts[reason]++;
    if (performance.now() - loggedAt[reason] < EVICTION_LINE_MS) return;
    loggedAt[reason] = performance.now();
    logger.warn(
      { closed: counts[reason], bound: boundOf[reason] },
      "idle connections closed because the bound is reached",
    );
    counts[reason] = 0;
  };
}

/** Registers the metric of open connections. Each reading of the metrics calls `connections`. */
export function registerConnectionGauge(metrics: Metrics, connections: () => number): void {
  new Gauge({
    name: "pixelmill_pixel_connections",
    help: "Open connections of the data plane",
    registers: [metrics],
    collect() {
      this.set(connections());
    },
  });
}
