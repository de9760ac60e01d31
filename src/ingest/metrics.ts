import { Counter, Gauge } from "prom-client";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { createFailedHandshakes } from "../observe/tls-metrics.ts";

/**
 * Counts responses by status. The counts are copied to a metric only when the metrics are read. To
 * count in the metric itself (`inc` with a label) would take a tenth of a request's CPU time.
 */
class StatusCounts {
  readonly #counts = new Map<number, { status: number; answers: number }>();

  add(status: number): void {
    const counted = this.#counts.get(status);
    if (counted === undefined) this.#counts.set(status, { status, answers: 1 });
    else counted.answers++;
  }

  addTo(counter: Counter, labels?: Record<string, string>): void {
    for (const { status, answers } of this.#counts.values()) {
      counter.inc({ ...labels, status }, answers);
    }
  }
}

/** Returns a function that counts a response to a pixel by its status. */
export function createStatusCounter(metrics: Metrics): (status: number) => void {
  const counts = new StatusCounts();
  new Counter({
    name: "pixelmill_pixel_requests_total",
    help: "Pixel requests by status",
    labelNames: ["status"],
    registers: [metrics],
    collect() {
      this.reset();
      counts.addTo(this);
    },
  });
  return (status) => counts.add(status);
}

/** Reason why a request of an SDK is refused although the server works normally. */
export type RefusalReason = "disabled";

/**
 * Returns a function that counts a response to an SDK by its status. Responses for disabled sources
 * get a label of their own, because their status 503 is no failure of the server.
 */
export function createSdkStatusCounter(
  metrics: Metrics,
): (status: number, reason?: RefusalReason) => void {
  const counts = new StatusCounts();
  const disabled = new StatusCounts();
  new Counter({
    name: "pixelmill_sdk_requests_total",
    help: "Requests of SDKs with events, by status; reason is disabled for those of a disabled source",
    labelNames: ["status", "reason"],
    registers: [metrics],
    collect() {
      this.reset();
      counts.addTo(this);
      disabled.addTo(this, { reason: "disabled" });
    },
  });
  return (status, reason) => (reason === undefined ? counts : disabled).add(status);
}

/**
 * Returns a function that counts stored SDK events. `good` is the number of events that will be
 * delivered. `refused` is the number of invalid ones, which are stored but not delivered.
 */
export function createSdkEventCounter(metrics: Metrics): (good: number, refused: number) => void {
  const counts = { stored: 0, refused: 0 };
  new Counter({
    name: "pixelmill_sdk_events_total",
    help: "Events of SDKs that were stored, and that were stored as refused",
    labelNames: ["outcome"],
    registers: [metrics],
    collect() {
      this.reset();
      for (const [outcome, events] of Object.entries(counts)) this.inc({ outcome }, events);
    },
  });
  return (good, refused) => {
    counts.stored += good;
    counts.refused += refused;
  };
}

/**
 * Milliseconds between two log lines about evicted (closed) connections. With one line for each
 * connection, an attacker could flood the server's log output.
 */
const EVICTION_LINE_MS = 60_000;

const boundOf = {
  network: "ingest.connections of one address",
  all: "connections of this process",
};

/**
 * Returns a function that counts a connection that was closed or refused at a maximum number of
 * connections: `network` for the maximum of one client network, `all` for that of this process.
 */
export function createEvictionCounter(
  metrics: Metrics,
  logger: Logger,
): (reason: keyof typeof boundOf) => void {
  const counter = new Counter({
    name: "pixelmill_pixel_connections_ended_total",
    help: "Connections that were closed to make room, for their network or for all",
    labelNames: ["reason"],
    registers: [metrics],
  });
  const counts = { network: 0, all: 0 };
  const loggedAt = { network: Number.NEGATIVE_INFINITY, all: Number.NEGATIVE_INFINITY };
  return (reason) => {
    counter.inc({ reason });
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

/**
 * Registers the metric of open connections. Each time the metric is read, `connections` is called.
 */
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

/**
 * Registers the counter of failed TLS handshakes. Returns a function that counts a failed handshake
 * on the port of the data plane.
 */
export function createHandshakeCounter(metrics: Metrics): () => void {
  const counter = createFailedHandshakes(metrics);
  return () => counter.inc({ plane: "data" });
}
