import { TimeSlicer } from "../../../concurrency/time-slicer.ts";
import { HOUR_MS, type NodeRow } from "../../../figures/figure-tables.ts";
import {
  type FigurePoint,
  type FigureRange,
  oldestMinute,
  readPoints,
  readTotals,
} from "../../../figures/figures.ts";
import { MINUTE_MS } from "../../../figures/minute-counters.ts";
import {
  DELIVERED,
  DROPPED,
  FAILED,
  type FigureRow,
  LAG_EVENTS,
  LAG_SECONDS,
  latencies,
  latencyQuantile,
  RECEIVED,
  REPEATED,
  RETRIED,
} from "../../../figures/row.ts";
import {
  connectionSeries,
  type Series,
  type SeriesKind,
  seriesOf,
} from "../../../figures/series.ts";
import { FIGURE_DAYS_MAX, METRIC_POINTS_MAX } from "../../../settings/limits.ts";
import { invalidValue } from "../../request/validation.ts";
import { isoTime } from "../../schema/common.ts";
import type { StatusDeps } from "./local-status.ts";
import { unwrittenFigures } from "./node-status.ts";

const DAY_SECONDS = 86_400;
/**
 * Possible steps (seconds between two points of a chart) for a request without `step`. The server
 * takes the shortest one that has stored figures for the time range and gives at most
 * `METRIC_POINTS_MAX` points.
 */
const STEPS = [60, 300, 3_600, 7_200, 14_400, DAY_SECONDS];

/**
 * Query of a request for figures: its time range (`from`, `to`), and the seconds between two points
 * (`step`).
 */
interface Query {
  from?: string;
  to?: string;
  step?: number;
}

/**
 * Returns the time range of a request, extended to whole steps. Throws if the range is invalid, or
 * has more than `METRIC_POINTS_MAX` points.
 */
export function rangeOf(query: Query, now: number): FigureRange {
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - HOUR_MS : Date.parse(query.from);
  if (from >= to) refuse("?from", "Expected `from` to be before `to`");
  const oldest = now - (FIGURE_DAYS_MAX + 1) * DAY_SECONDS * 1_000;
  if (from < oldest) refuse("?from", `Expected a time in the last ${FIGURE_DAYS_MAX} days`);
  const hasMinutes = from >= oldestMinute(now);
  // To extend a range to whole steps adds at most one point.
  const fits = (step: number) => (to - from) / (1_000 * step) <= METRIC_POINTS_MAX - 1;
  const shortest = STEPS.find((step) => fits(step) && (hasMinutes || step >= 3_600));
  const step = query.step ?? shortest ?? DAY_SECONDS;
  if (!fits(step)) refuse("?step", `Expected at most ${METRIC_POINTS_MAX} points, got more`);
  if (!hasMinutes && step % 3_600 !== 0) {
    refuse("?step", "Expected whole hours for figures older than 24 hours, got minutes");
  }
  const stepMs = step * 1_000;
  return { from: Math.floor(from / stepMs) * stepMs, to: Math.ceil(to / stepMs) * stepMs, stepMs };
}

function refuse(path: string, message: string): never {
  throw invalidValue(path, message);
}

/**
 * Returns the name of the series that has the figures of an item. Throws if the workspace has no
 * such item.
 */
export function ownSeries(
  deps: StatusDeps,
  workspaceId: string,
  kind: SeriesKind,
  id?: string,
): Series {
  if (kind === "workspace") return seriesOf(kind, workspaceId);
  if (id === undefined) refuse("?id", `Expected the id of a ${kind}, got nothing`);
  const { catalog } = deps;
  switch (kind) {
    case "source":
      return seriesOf(kind, catalog.sources.get(workspaceId, id).id);
    case "destination":
      return seriesOf(kind, catalog.destinations.get(workspaceId, id).id);
    case "connection":
      return connectionSeries(catalog.connections.get(workspaceId, id));
    case "transformation":
      return seriesOf(kind, catalog.code.resource(workspaceId, kind, id).id);
  }
}

/**
 * Returns the values of a chart: for each figure, such as `delivered`, a list with one value per
 * point of time. A value is null if the server recorded nothing at that time.
 */
export function columnsOf(series: Series, points: readonly FigurePoint[]) {
  const column = (value: (row: FigureRow) => number | undefined) =>
    points.map(({ recordedSeconds, row }) => (recordedSeconds > 0 ? (value(row) ?? null) : null));
  const counts = (index: number) => column((row) => countOf(row, index));
  return {
    recordedSeconds: points.map(({ recordedSeconds }) => recordedSeconds),
    received: counts(RECEIVED),
    delivered: counts(DELIVERED),
    dropped: counts(DROPPED),
    failed: counts(FAILED),
    retried: column((row) => retriedOf(series, row)),
    repeated: column((row) => repeatedOf(series, row)),
    attempts: column(latencies),
    p50Ms: column((row) => latencyQuantile(row, 0.5)),
    p99Ms: column((row) => latencyQuantile(row, 0.99)),
    lagEvents: counts(LAG_EVENTS),
    lagSeconds: counts(LAG_SECONDS),
  };
}

/** Returns sums of an item's figures (last minute, 24 hours and 30 days) and its present lag. */
export function totalsOf(deps: StatusDeps, series: Series, unwritten: readonly NodeRow[]) {
  const now = Date.now();
  const totals = readTotals(deps.figures.tables(), series, now, unwritten);
  const { minute, day, month, lastReceivedAt } = totals;
  return {
    minute: sumsOf(series, minute),
    day: sumsOf(series, day),
    month: sumsOf(series, month),
    ...(lastReceivedAt !== undefined && { lastReceivedAt: isoTime(lastReceivedAt) }),
    lagEvents: countOf(minute, LAG_EVENTS),
    lagSeconds: countOf(minute, LAG_SECONDS),
  };
}

/**
 * Returns, by source id, the time (ISO 8601) of each source's last event. Sources without an event
 * in the last 30 days are absent. The nodes in `missingNodes` did not answer, and may have received
 * later events.
 */
export async function lastReceivedTimes(
  deps: StatusDeps,
  workspaceId: string,
  sources: readonly { id: string }[],
  signal: AbortSignal,
): Promise<{ times: Map<string, { lastReceivedAt: string }>; missingNodes: string[] }> {
  const of = sources.map(({ id }) => ({ id, series: seriesOf("source", id) }));
  const { items, missingNodes } = await totalsOfAll(deps, workspaceId, of, signal);
  const times = new Map<string, { lastReceivedAt: string }>();
  for (const { id, lastReceivedAt } of items) {
    if (lastReceivedAt !== undefined) times.set(id, { lastReceivedAt });
  }
  return { times, missingNodes };
}

/**
 * Returns for each item in `of` the sums of its figures and its present lag. The nodes in
 * `missingNodes` did not answer; figures that they have not yet stored are missing in the sums.
 */
export async function totalsOfAll(
  deps: StatusDeps,
  workspaceId: string,
  of: readonly { id: string; series: Series }[],
  signal: AbortSignal,
) {
  const all = of.map(({ series }) => series);
  const { rows, missingNodes } = await unwrittenFigures(deps, workspaceId, all);
  const bySeries = Map.groupBy(rows, ({ series }) => series);
  const items: ({ id: string } & ReturnType<typeof totalsOf>)[] = [];
  const add = ({ id, series }: (typeof of)[number]) =>
    items.push({ id, ...totalsOf(deps, series, bySeries.get(series) ?? []) });
  // The sums of one series take up to 1 ms, and a request may ask for a whole page of series.
  await new TimeSlicer().each(of, add, signal);
  return { items, missingNodes };
}

const countOf = (row: FigureRow, column: number) => row[column] ?? 0;
const isOfSource = (series: Series) => series.startsWith(seriesOf("source", ""));
const retriedOf = (series: Series, row: FigureRow) =>
  isOfSource(series) ? 0 : countOf(row, RETRIED);
const repeatedOf = (series: Series, row: FigureRow) =>
  isOfSource(series) ? countOf(row, REPEATED) : 0;

const sumsOf = (series: Series, row: FigureRow) => ({
  received: countOf(row, RECEIVED),
  delivered: countOf(row, DELIVERED),
  dropped: countOf(row, DROPPED),
  failed: countOf(row, FAILED),
  retried: retriedOf(series, row),
  repeated: repeatedOf(series, row),
});

/** Returns the figures of a destination for each minute of the last hour, for `/history`. */
export async function lastHour(deps: StatusDeps, workspaceId: string, destinationId: string) {
  const series = ownSeries(deps, workspaceId, "destination", destinationId);
  const { rows, missingNodes } = await unwrittenFigures(deps, workspaceId, [series]);
  const now = Date.now();
  const to = Math.floor(now / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const range = { from: to - HOUR_MS, to, stepMs: MINUTE_MS };
  const points = readPoints(deps.figures.tables(), series, range, rows);
  const minutes = points.map(({ at, row }) => ({
    at: isoTime(at),
    delivered: countOf(row, DELIVERED),
    dropped: countOf(row, DROPPED),
    failed: countOf(row, FAILED),
    retried: countOf(row, RETRIED),
    attempts: latencies(row),
    ...(latencies(row) > 0 && {
      p50Ms: latencyQuantile(row, 0.5)!,
      p99Ms: latencyQuantile(row, 0.99)!,
    }),
  }));
  return { minutes, missingNodes };
}
