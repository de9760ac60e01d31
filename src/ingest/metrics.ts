import { Counter, Gauge } from "prom-client";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Counts answers by status. Plain numbers are counted until somebody reads the metrics: a labelled
 * `inc` for each request would cost a tenth of the request.
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
 * Pause between two log lines about closed connections: a line for each would help whoever floods
 * the process.
 */
const ENDED_LINE_MS = 60_000;

const crowds = {
  network: "One address has more connections than ingest.connections allows",
  all: "There are more connections than this process takes",
};

/** Counts connections that were closed, or not taken, for want of a place. */
export function createEvictionCounter(
  metrics: Metrics | undefined,
  logger: Logger,
): (reason: keyof typeof crowds) => void {
  const counter =
    metrics &&
    new Counter({
      name: "pixelmill_pixel_connections_ended_total",
      help: "Connections that were closed to make room, for their network or for all",
      labelNames: ["reason"],
      registers: [metrics],
    });
  const counts = { network: 0, all: 0 };
  const toldAt = { network: Number.NEGATIVE_INFINITY, all: Number.NEGATIVE_INFINITY };
  return (reason) => {
    counter?.inc({ reason });
    counts[reason]++;
    if (performance.now() - toldAt[reason] < ENDED_LINE_MS) return;
    toldAt[reason] = performance.now();
    logger.warn(
      { closed: counts[reason] },
      `${crowds[reason]}: those that wait longest are closed`,
    );
    counts[reason] = 0;
  };
}

/** Shows how many clients are connected, and the bound `HTTP_CONNECTIONS_MAX`. */
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
