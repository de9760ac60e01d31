import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import {
  DELIVERED,
  FAILED,
  type FigureRow,
  latencies,
  mergeNodes,
  RECEIVED,
  RETRIED,
} from "../../src/figures/row.ts";
import { connectionSeries, seriesOf } from "../../src/figures/series.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";
import { holds } from "../until.ts";
import { record } from "./doubles.ts";
import { numbersTo, Rig, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(300_000);

/** Figures of a series in the latest minutes. */
function countedOf(pipeline: Pipeline, series: string): FigureRow {
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const latest = [0, 1, 2, 3].map((ago) => pipeline.figures.minute(minute - ago * 60_000));
  return latest.flatMap((rows) => [rows.get(series) ?? []]).reduce(mergeNodes, []);
}

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

test("a lane's status counts received and delivered events by source and by minute", async () => {
  rig.webhook("one", ([event]) => new Response("", { status: event!.n === 2 ? 400 : 200 }));
  const pipeline = rig.start();
  expect(pipeline.status("unknown")).toBeUndefined();
  rig.log.append(...numbersTo(3).map((n) => record(n)));
  await until(() => pipeline.deadLetters.count("workspace") === 1);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const status = pipeline.status("one")!;
  expect(status).toMatchObject({ lagEvents: 0, lagSeconds: 0, isWaiting: false });
  expect(status.failure).toBeUndefined();
  const [rates] = status.rates;
  expect(rates!.sourceId).toBe("source");
  expect(rates!.delivered / rates!.received).toBeCloseTo(2 / 3, 5);
  expect(rates!.failed / rates!.received).toBeCloseTo(1 / 3, 5);
  const row = countedOf(pipeline, seriesOf("destination", "one"));
  expect([RECEIVED, DELIVERED, FAILED].map((it) => row[it])).toEqual([3, 2, 1]);
  expect(latencies(row)).toBe(3);
  const ends = { sourceId: "source", destinationId: "one" };
  expect(countedOf(pipeline, connectionSeries(ends))).toEqual([3, 2, 0, 1]);
  // A source and a workspace count received events when they are stored, not at each destination.
  expect(countedOf(pipeline, seriesOf("source", "source"))).toEqual([0, 2, 0, 1]);
  expect(countedOf(pipeline, seriesOf("workspace", "workspace")).slice(0, 4)).toEqual([0, 2, 0, 1]);
  expect(await pipeline.figures.lag()).toEqual(new Map());
});

test("a lane's status shows since when and why its receiver fails, until it recovers", async () => {
  let isUp = false;
  rig.webhook("one", () => new Response("", { status: isUp ? 200 : 503 }));
  const pipeline = rig.start();
  const before = Date.now();
  rig.log.append(record(1));
  await until(() => pipeline.status("one")?.failure !== undefined);
  const { failure, lagEvents } = pipeline.status("one")!;
  expect(failure!.reason).toBe("HTTP 503 from receiver");
  expect(failure!.since).toBeGreaterThanOrEqual(before - 1_000);
  expect(failure!.since).toBeLessThanOrEqual(Date.now() + 1_000);
  expect(lagEvents).toBe(1);
  isUp = true;
  await until(() => pipeline.status("one")?.failure === undefined);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  expect(countedOf(pipeline, seriesOf("destination", "one"))[RETRIED]).toBeGreaterThan(0);
});

test("a lane's status shows why its receiver refuses all events, until it accepts one", async () => {
  let status = 422;
  const sink = rig.webhook("one", ([event]) => {
    return new Response("", { status: event!.n < 0 ? 400 : status });
  });
  const pipeline = rig.start();
  const failure = () => pipeline.status("one")?.failure;
  const before = Date.now();
  rig.log.append(record(1));
  await until(() => failure() !== undefined);
  expect(failure()).toMatchObject({ reason: "HTTP 422 from receiver", isDown: false });
  expect(failure()!.since).toBeGreaterThanOrEqual(before - 1_000);
  expect(failure()!.since).toBeLessThanOrEqual(Date.now() + 1_000);
  status = 200;
  rig.log.append(record(2));
  await until(() => sink.taken.length === 1 && failure() === undefined);
  // A wrong event among good ones says nothing about the receiver; several in a row do.
  rig.log.append(record(-1), record(-2));
  await until(() => pipeline.deadLetters.count("workspace") === 3);
  expect(failure()).toBeUndefined();
  rig.log.append(record(-3));
  await until(() => failure()?.reason === "HTTP 400 from receiver");
  rig.log.append(record(3));
  await until(() => failure() === undefined);
});

test.each([401, 503])(
  "a restart keeps the failure of a receiver that answers %d, until it accepts an event",
  async (status) => {
    const sink = rig.webhook("one", () => new Response("", { status }));
    // A short retry window: the outage is then as idle as the refusal.
    const over = { retryWindowMs: 1 };
    const { deadLetters } = rig.start(over);
    rig.log.append(record(1));
    await until(() => deadLetters.count("workspace") === 1);
    await rig.stop();
    const { requests } = sink;
    const pipeline = rig.start(over);
    const failure = () => pipeline.status("one")?.failure;
    expect(failure()).toMatchObject({ reason: `HTTP ${status} from receiver`, isDown: false });
    await holds(200, () => expect(failure()).toBeDefined());
    expect(sink.requests).toBe(requests);
    sink.answer = () => new Response("ok");
    rig.log.append(record(2));
    await until(() => failure() === undefined && pipeline.status("one")?.lagEvents === 0);
    await rig.stop();
    const after = rig.start(over);
    expect(after.status("one")!.failure).toBeUndefined();
  },
);

test("a restart after a change of settings forgets the failure of the settings before", async () => {
  const sink = rig.webhook("one", () => new Response("", { status: 401 }));
  const ledger = openLedger(join(rig.directory, "delivery"), pino({ level: "silent" }));
  rig.start({ ledger });
  rig.log.append(record(1));
  const stored = () => ledger.lane("one")?.refusedMs;
  await until(() => stored() !== undefined);
  rig.live.putDestination("one", { config: { webhookUrl: `${sink.url}other` } });
  // Before the next trim, which makes lanes write what has changed.
  await until(() => stored() === undefined, "a record without a refusal", 8_000);
});

test("changed settings clear a lane's refusals", async () => {
  const sink = rig.webhook("one", () => new Response("", { status: 401 }));
  const pipeline = rig.start();
  rig.log.append(record(1));
  await until(() => pipeline.status("one")?.failure !== undefined);
  rig.live.putDestination("one", { config: { webhookUrl: `${sink.url}other` } });
  await until(() => pipeline.status("one")?.failure === undefined);
});

test("a destination keeps its figures when it is disconnected, until it is deleted", async () => {
  rig.webhook("one");
  const metrics = new Registry();
  const pipeline = rig.start({ metrics });
  rig.log.append(...numbersTo(3).map((n) => record(n)));
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const [connection] = rig.live.connections.keys();
  rig.live.disconnect(connection!);
  await until(() => pipeline.status("one") === undefined);
  const isShown = async () => (await metrics.metrics()).includes('destination="one"');
  await until(async () => !(await isShown()));
  const deliveredTo = (series: string) => countedOf(pipeline, series)[DELIVERED];
  expect(deliveredTo(seriesOf("destination", "one"))).toBe(3);
  expect(deliveredTo(seriesOf("source", "source"))).toBe(3);
  rig.live.connect("one");
  await until(() => pipeline.status("one") !== undefined);
  rig.live.remove("one");
  await until(() => pipeline.status("one") === undefined);
  await until(() => deliveredTo(seriesOf("destination", "one")) === undefined);
});
