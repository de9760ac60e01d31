import { expect, spyOn, test } from "bun:test";
import { Registry } from "prom-client";
import {
  createEvictionCounter,
  createHandshakeCounter,
  createSdkEventCounter,
  createSdkStatusCounter,
  createStatusCounter,
  registerConnectionGauge,
} from "../../src/ingest/metrics.ts";
import { listeningLogger } from "../log/support.ts";

/** Labels and value of each sample of a metric, at two readings that must agree. */
async function samplesOf(metrics: Registry, name: string) {
  const read = async () => (await metrics.getSingleMetric(name)!.get()).values;
  const samples = await read();
  expect(await read()).toEqual(samples);
  return samples.map(({ labels, value }) => [labels, value] as const);
}

test("answers to pixels are counted by status", async () => {
  const metrics = new Registry();
  const count = createStatusCounter(metrics);
  for (const status of [200, 400, 200, 200]) count(status);
  expect(await samplesOf(metrics, "pixelmill_pixel_requests_total")).toEqual([
    [{ status: 200 }, 3],
    [{ status: 400 }, 1],
  ]);
});

test("answers to SDKs are counted by status, those of a disabled source apart", async () => {
  const metrics = new Registry();
  const count = createSdkStatusCounter(metrics);
  count(503);
  count(200);
  count(503, "disabled");
  count(503, "disabled");
  expect(await samplesOf(metrics, "pixelmill_sdk_requests_total")).toEqual([
    [{ status: 503 }, 1],
    [{ status: 200 }, 1],
    [{ status: 503, reason: "disabled" }, 2],
  ]);
});

test("events of SDKs are counted as stored and as refused, from 0 on", async () => {
  const metrics = new Registry();
  const count = createSdkEventCounter(metrics);
  const samples = () => samplesOf(metrics, "pixelmill_sdk_events_total");
  const outcomes = (stored: number, refused: number) => [
    [{ outcome: "stored" }, stored],
    [{ outcome: "refused" }, refused],
  ];
  expect(await samples()).toEqual(outcomes(0, 0) as never);
  count(3, 1);
  count(4, 2);
  expect(await samples()).toEqual(outcomes(7, 3) as never);
});

test("the gauge of connections has the number at the time of its reading", async () => {
  const metrics = new Registry();
  let connections = 2;
  registerConnectionGauge(metrics, () => connections);
  expect(await samplesOf(metrics, "pixelmill_pixel_connections")).toEqual([[{}, 2]]);
  connections = 5;
  expect(await samplesOf(metrics, "pixelmill_pixel_connections")).toEqual([[{}, 5]]);
});

test("failed handshakes are those of the data plane", async () => {
  const metrics = new Registry();
  createHandshakeCounter(metrics)();
  const samples = await samplesOf(metrics, "pixelmill_tls_failed_handshakes_total");
  expect(samples).toEqual([[{ plane: "data" }, 1]]);
});

test("connections closed for room are all counted, and told once a minute for each bound", async () => {
  const metrics = new Registry();
  const { logger, lines } = listeningLogger();
  const evicted = createEvictionCounter(metrics, logger);
  const clock = spyOn(performance, "now").mockReturnValue(1_000);
  try {
    evicted("network");
    evicted("network");
    evicted("all");
    clock.mockReturnValue(60_999);
    evicted("network");
    expect(lines).toHaveLength(2);
    clock.mockReturnValue(61_000);
    evicted("network");
    evicted("network");
  } finally {
    clock.mockRestore();
  }
  expect(await samplesOf(metrics, "pixelmill_pixel_connections_ended_total")).toEqual([
    [{ reason: "network" }, 5],
    [{ reason: "all" }, 1],
  ]);
  const ofNetwork = "ingest.connections of one address";
  expect(lines).toMatchObject([
    { closed: 1, bound: ofNetwork },
    { closed: 1, bound: "connections of this process" },
    { closed: 3, bound: ofNetwork },
  ]);
});
