import { afterAll, beforeAll, expect, test } from "bun:test";
import { rangeOf } from "../../../src/api/routes/status/figure-answers.ts";
import type { NodeRow } from "../../../src/figures/figure-tables.ts";
import { connectionSeries, RECORDED, seriesOf } from "../../../src/figures/series.ts";
import { METRIC_POINTS_MAX, PAGE_ITEMS_MAX } from "../../../src/settings/limits.ts";
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

test("a destination has its lag, and the figures of its minutes of the last hour", async () => {
  const { id } = (await api.send("POST", "/v2/destinations", { body: webhook })).body.destination;
  const now = minuteOf(Date.now());
  const row = (at: number, counts: number[]) =>
    ({ series: seriesOf("destination", id), at, recorder: "a", row: counts }) satisfies NodeRow;
  unwritten = [];
  await api.figures.write([
    row(now - 2 * MINUTE, [9, 8, 7, 6, 5, 4, 3, 2, 10, 3, 80, 5, 10]),
    row(now - MINUTE, [0, 0, 0, 0, 0, 12, 34]),
  ]);
  const { minutes } = (await api.send("GET", `/v2/destinations/${id}/history`)).body;
  const byTime = new Map<string, object>(minutes.map((it: { at: string }) => [it.at, it]));
  const times = Array.from({ length: 60 }, (_, n) => isoOf(now + MINUTE - (60 - n) * MINUTE));
  // The minute may end meanwhile.
  expect([...byTime.keys()].slice(2)).toEqual(times.slice(2));
  const zero = { delivered: 0, dropped: 0, failed: 0, retried: 0, attempts: 0 };
  const at = isoOf(now - 2 * MINUTE);
  const counts = { delivered: 8, dropped: 7, failed: 6, retried: 5 };
  // The buckets end at 1.5 ** 2, 1.5 ** 3 and 1.5 ** 5 ms.
  expect(byTime.get(at)).toEqual({ at, ...counts, attempts: 100, p50Ms: 3, p99Ms: 8 });
  for (const other of times.slice(2).filter((it) => it !== at)) {
    expect(byTime.get(other)).toEqual({ at: other, ...zero });
  }
  const totals = await api.send("GET", `/v2/metrics/totals?kind=destination&ids=${id}`);
  expect(totals.body.items[0]).toMatchObject({ lagEvents: 12, lagSeconds: 34 });
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

test("a source has repeated events in place of retries", async () => {
  const { id } = (await api.send("POST", "/v2/sources", { body: { name: "Again" } })).body.source;
  const at = minuteOf(Date.now()) - MINUTE;
  const series = seriesOf("source", id);
  await api.figures.write([
    { series, at, recorder: "a", row: [9, 0, 0, 0, 2] },
    { series: RECORDED, at, recorder: "r", row: [60] },
  ]);
  const query = `kind=source&id=${id}&from=${isoOf(at)}&to=${isoOf(at + MINUTE)}`;
  const { body } = await api.send("GET", `/v2/metrics?${query}`);
  expect([body.received, body.repeated, body.retried]).toEqual([[9], [2], [0]]);
  const totals = await api.send("GET", `/v2/metrics/totals?kind=source&ids=${id}`);
  expect(totals.body.items[0].day).toMatchObject({ received: 9, repeated: 2, retried: 0 });
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

test("a chart has the shortest step that fits its points and the age of its figures", () => {
  const now = Date.parse("2026-07-01T12:00:30Z");
  const stepOf = (hours: number, endedHoursAgo = 0) => {
    const to = now - endedHoursAgo * HOUR;
    const query = { from: isoOf(to - hours * HOUR), to: isoOf(to) };
    return rangeOf(query, now).stepMs / 1_000;
  };
  const hours = [1, 6.65, 6.66, 24, 25, 26.1, 24 * 16, 24 * 30];
  expect(hours.map((it) => stepOf(it))).toEqual([60, 60, 300, 300, 300, 3_600, 3_600, 7_200]);
  // Older figures are by the hour.
  expect([1, 24, 24 * 20].map((it) => stepOf(it, 48))).toEqual([3_600, 3_600, 7_200]);
});

test("a range has whole steps, and at most as many as a chart has points", () => {
  const now = Date.parse("2026-07-01T12:00:30Z");
  const hour = { from: isoOf(now - HOUR + 1_000), to: isoOf(now + 1_000), step: 300 };
  const [from, to] = ["2026-07-01T11:00:00Z", "2026-07-01T12:05:00Z"].map((it) => Date.parse(it));
  expect(rangeOf(hour, now)).toEqual({ from: from!, to: to!, stepMs: 300_000 });
  expect(rangeOf({}, now)).toEqual({ from: now - HOUR - 30_000, to: now + 30_000, stepMs: MINUTE });
  const longest = (METRIC_POINTS_MAX - 1) * MINUTE;
  const full = rangeOf({ from: isoOf(now - longest) }, now);
  expect((full.to - full.from) / full.stepMs).toBe(METRIC_POINTS_MAX);
  expect(() => rangeOf({ from: isoOf(now - longest - 1), step: 60 }, now)).toThrow("points");
  const oldest = now - 31 * 24 * HOUR;
  expect(rangeOf({ from: isoOf(oldest), step: 86_400 }, now).stepMs).toBe(24 * HOUR);
  expect(() => rangeOf({ from: isoOf(oldest - 1), step: 86_400 }, now)).toThrow("30 days");
  expect(() => rangeOf({ from: isoOf(now), to: isoOf(now) }, now)).toThrow("before");
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
  const totalsOf = (count: number) => {
    const ids = Array.from({ length: count }, (_, n) => `d${n}`).join(",");
    return api.send("GET", `/v2/metrics/totals?kind=source&ids=${ids}`);
  };
  expect((await totalsOf(PAGE_ITEMS_MAX)).body.items).toEqual([]);
  const { status, body } = await totalsOf(PAGE_ITEMS_MAX + 1);
  expect([status, body.details[0].path]).toEqual([400, "?ids"]);
});

test("totals without a kind are those of the workspace", async () => {
  for (const query of ["", "?kind=workspace", "?ids=a,b"]) {
    const { items } = (await api.send("GET", `/v2/metrics/totals${query}`)).body;
    expect(items.map(({ id }: { id: string }) => id)).toEqual([api.workspaceId]);
  }
});
