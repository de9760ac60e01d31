import { afterAll, beforeAll, expect, test } from "bun:test";
import type { NodeRow } from "../../../src/figures/figure-tables.ts";
import { connectionSeries, RECORDED, seriesOf } from "../../../src/figures/series.ts";
import { METRIC_POINTS_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Rows that the other node has not stored yet. */
let unwritten: NodeRow[] = [];
let missing: string[] = [];
let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    others: {
      node: "n1",
      async ask(question) {
        const [kind] = question as string[];
        return { answers: new Map(kind === "figures" ? [["n2", unwritten]] : []), missing };
      },
      answerWith: () => {},
    },
  });
});
afterAll(() => api.stop());

const isoOf = (at: number) => new Date(at).toISOString();
const minuteOf = (at: number) => Math.floor(at / MINUTE) * MINUTE;
const webhook = { name: "Hook", type: "webhook", config: { webhookUrl: "http://127.0.0.1:9" } };

test("figures of a destination have gaps, the figures of all nodes, and unions of their minutes", async () => {
  const { id } = (await api.send("POST", "/v2/destinations", { body: webhook })).body.destination;
  const series = seriesOf("destination", id);
  const now = minuteOf(Date.now());
  const row = (at: number, of: string, counts: number[], recorder = "a") =>
    ({ series: of, at, recorder, row: counts }) satisfies NodeRow;
  await api.figures.write([
    row(now - 10 * MINUTE, RECORDED, [60]),
    row(now - 10 * MINUTE, series, [9, 8, 0, 1, 2, 5, 7, 5, 3]),
    row(now - 9 * MINUTE, RECORDED, [60]),
  ]);
  unwritten = [row(now - MINUTE, RECORDED, [60], "b"), row(now - MINUTE, series, [4, 4], "b")];
  const query = `kind=destination&id=${id}&from=${isoOf(now - 10 * MINUTE)}&to=${isoOf(now)}`;
  const { status, body } = await api.send("GET", `/v2/metrics?${query}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ from: isoOf(now - 10 * MINUTE), to: isoOf(now), stepSeconds: 60 });
  const gap = [null, null, null, null, null, null, null];
  expect(body.received).toEqual([9, 0, ...gap, 4]);
  expect(body.failed).toEqual([1, 0, ...gap, 0]);
  expect(body.attempts).toEqual([3, 0, ...gap, 0]);
  expect(body.p99Ms).toEqual([8, null, ...gap, null]);
  expect(body.lagEvents).toEqual([5, 0, ...gap, 0]);
  expect(body.missingNodes).toBeUndefined();

  missing = ["n3"];
  const totals = await api.send("GET", `/v2/metrics/totals?kind=destination&ids=${id},unknown`);
  expect(totals.body.items).toEqual([
    {
      id,
      minute: { received: 4, delivered: 4, dropped: 0, failed: 0, retried: 0, repeated: 0 },
      day: { received: 13, delivered: 12, dropped: 0, failed: 1, retried: 2, repeated: 0 },
      month: { received: 13, delivered: 12, dropped: 0, failed: 1, retried: 2, repeated: 0 },
      lastReceivedAt: isoOf(now - MINUTE),
      ...{ lagEvents: 0, lagSeconds: 0 },
    },
  ]);
  expect(totals.body.missingNodes).toEqual(["n3"]);
  missing = [];
});

test("a source in the list has the time of its last event, on this node or another", async () => {
  const create = async (name: string) =>
    (await api.send("POST", "/v2/sources", { body: { name } })).body.source.id as string;
  const [busy, silent, elsewhere] = [
    await create("Busy"),
    await create("Silent"),
    await create("Elsewhere"),
  ];
  const now = minuteOf(Date.now());
  const row = (id: string, at: number) =>
    ({ series: seriesOf("source", id), at, recorder: "a", row: [1, 1] }) satisfies NodeRow;
  await api.figures.write([row(busy, now - 3 * MINUTE), row(busy, now - 9 * MINUTE)]);
  unwritten = [row(elsewhere, now - MINUTE)];
  const { sources } = (await api.send("GET", "/v2/status/sources?sort=-name")).body;
  expect(
    sources.map(({ id, lastReceivedAt }: { id: string; lastReceivedAt?: string }) => [
      id,
      lastReceivedAt,
    ]),
  ).toEqual([
    [silent, undefined],
    [elsewhere, isoOf(now - MINUTE)],
    [busy, isoOf(now - 3 * MINUTE)],
  ]);
});

test("a connection keeps its figures when its parts are named by their ids", async () => {
  const source = (await api.send("POST", "/v2/sources", { body: { name: "Shop" } })).body.source;
  const destination = (await api.send("POST", "/v2/destinations", { body: webhook })).body
    .destination;
  const ends = { sourceId: source.id, destinationId: destination.id };
  const { id } = (await api.send("POST", "/v2/connections", { body: ends })).body.connection;
  const at = minuteOf(Date.now()) - MINUTE;
  await api.figures.write([{ series: connectionSeries(ends), at, recorder: "a", row: [6] }]);
  const { body } = await api.send("GET", `/v2/metrics/totals?kind=connection&ids=${id}`);
  expect(body.items[0].minute.received).toBe(6);
  for (const kind of ["source", "destination", "connection"]) {
    const other = await api.tokenWith(
      ["events:read"],
      (await api.catalog.workspaces.create("x")).id,
    );
    const path = `/v2/metrics?kind=${kind}&id=${{ source, destination, connection: { id } }[kind]!.id}`;
    expect((await api.send("GET", path)).status).toBe(200);
    expect((await api.send("GET", path, { token: other })).status).toBe(404);
  }
});

test("an answer for a chart has at most 50 KB, with the largest numbers", async () => {
  const series = seriesOf("workspace", api.workspaceId);
  const now = Date.now();
  const first = minuteOf(now) - 24 * HOUR;
  const histogram = Array.from({ length: 28 }, (_, bucket) => [bucket, 9_999_999]).flat();
  const counts = [99_999_999, 99_999_999, 9_999_999, 9_999_999, 9_999_999, 9_999_999, 86_400];
  const rows = Array.from({ length: 24 * 60 }, (_, n) => first + n * MINUTE).flatMap((at) => [
    { series, at, recorder: "a", row: [...counts, ...histogram] },
    { series: RECORDED, at, recorder: "a", row: [59.7] },
  ]);
  await api.figures.write(rows);
  await api.figures.tidy(now);
  for (const hours of [1, 24, 7 * 24, 30 * 24]) {
    const answer = await api.send("GET", `/v2/metrics?from=${isoOf(now - hours * HOUR)}`);
    expect([hours, answer.status]).toEqual([hours, 200]);
    expect(answer.body.received.length).toBeGreaterThanOrEqual(50);
    expect(answer.body.received.length).toBeLessThanOrEqual(METRIC_POINTS_MAX);
    expect(answer.text.length).toBeLessThan(50_000);
  }
});

test("a range with too many points or minutes of the past is refused, with the parameter", async () => {
  const now = Date.now();
  const day = `from=${isoOf(now - 24 * HOUR)}`;
  const refusals = [
    [`${day}&step=60`, `Expected at most ${METRIC_POINTS_MAX} points at ?step, got more`],
    [
      `from=${isoOf(now - 48 * HOUR)}&to=${isoOf(now - 47 * HOUR)}&step=60`,
      "Expected whole hours for figures older than 24 hours at ?step, got minutes",
    ],
    [`from=${isoOf(now - 90 * 24 * HOUR)}`, "Expected a time in the last 30 days at ?from"],
    [`${day}&to=${isoOf(now - 25 * HOUR)}`, "Expected `from` to be before `to` at ?from"],
    ["kind=source", "Expected the id of a source at ?id, got nothing"],
  ];
  for (const [query, message] of refusals) {
    const { status, body } = await api.send("GET", `/v2/metrics?${query}`);
    expect([query, status, body.message]).toEqual([query, 400, message]);
  }
  const ids = Array.from({ length: 101 }, (_, n) => `d${n}`).join(",");
  const { status } = await api.send("GET", `/v2/metrics/totals?kind=source&ids=${ids}`);
  expect(status).toBe(400);
});
