import { FIGURE_DAYS_MAX, FIGURE_MINUTES_HOURS_MAX } from "../settings/limits.ts";
import { DAY_MS, type FigureTables, HOUR_MS, type NodeRow, readRows } from "./figure-tables.ts";
import { MINUTE_MS } from "./minute-counters.ts";
import { COUNTS, type FigureRow, mergeTimes, RECEIVED } from "./row.ts";
import { RECORDED, type Series } from "./series.ts";

/** Figures of one step (a span of time) of a chart. */
export interface FigurePoint {
  /** Start of the chart's step (a span of time), in milliseconds since the epoch. */
  at: number;
  /** Number of the step's seconds for which figures were recorded; 0 for a gap. */
  recordedSeconds: number;
  row: FigureRow;
}

export interface FigureRange {
  /** Start of the first step, in milliseconds since the epoch: a multiple of `stepMs`. */
  from: number;
  /** End of the last step, in milliseconds since the epoch. */
  to: number;
  /**
   * Length of a step in milliseconds: a multiple of a minute. If the range begins before
   * `oldestMinute`, it is a multiple of an hour, because such old figures are stored only by hour.
   */
  stepMs: number;
}

/** Returns the time of the oldest minute whose figures are still stored at the time `now`. */
export const oldestMinute = (now: number) => now - FIGURE_MINUTES_HOURS_MAX * HOUR_MS - HOUR_MS;

/**
 * Reads the points of a chart of one series, one for each step. `unwritten` has rows that nodes
 * have not stored yet; without `tables` (the store is not open), the points come from `unwritten`
 * alone.
 */
export function readPoints(
  tables: FigureTables | undefined,
  series: Series,
  { from, to, stepMs }: FigureRange,
  unwritten: readonly NodeRow[],
): FigurePoint[] {
  const rowStep = stepMs % HOUR_MS === 0 ? "hours" : "minutes";
  const read = (of: Series) => readRows(tables, rowStep, { series: of, from, to, unwritten });
  const rows = bySteps(read(series), from, stepMs);
  const recorded = bySteps(read(RECORDED), from, stepMs);
  return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, index) => {
    const seconds = recorded.get(index)?.[0] ?? 0;
    return {
      at: from + index * stepMs,
      recordedSeconds: Math.min(stepMs / 1_000, Math.round(10 * seconds) / 10),
      row: rows.get(index) ?? [],
    };
  });
}

/**
 * Returns the figures of a series for the last whole minute, and the sums of its counts for the
 * last day and month.
 */
export function readTotals(
  tables: FigureTables | undefined,
  series: Series,
  now: number,
  unwritten: readonly NodeRow[],
) {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS - MINUTE_MS;
  const first = hour - FIGURE_DAYS_MAX * DAY_MS;
  const to = hour + HOUR_MS;
  const hours = readRows(tables, "hours", { series, from: first, to, unwritten });
  const recent = (from: number) => readRows(tables, "minutes", { series, from, to, unwritten });
  const isOfDay = ([at]: [number, FigureRow]) => at >= hour - DAY_MS;
  const lastHour = lastReceived(hours);
  const isRecent = lastHour !== undefined && lastHour >= oldestMinute(now) + HOUR_MS;
  return {
    minute: recent(minute).get(minute) ?? [],
    /** Sums of the counts of the current hour and the 24 hours before it. */
    day: sumCounts(hours.entries().filter(isOfDay)),
    /** Sums of the counts of the current hour and the 30 days before it. */
    month: sumCounts(hours),
    /**
     * Start of the last minute in which something was received, or of its hour if the figures of
     * its minutes are deleted. The value is undefined if nothing was received in the last 30 days.
     */
    lastReceivedAt: (isRecent ? lastReceived(recent(lastHour)) : undefined) ?? lastHour,
  };
}

/** Sums each count over the rows. The result has no lag and no latencies. */
function sumCounts(rows: Iterable<[number, FigureRow]>): FigureRow {
  const sums = new Array<number>(COUNTS).fill(0);
  for (const [, row] of rows) {
    for (let index = 0; index < COUNTS; index += 1) sums[index]! += row[index] ?? 0;
  }
  return sums;
}

function lastReceived(rows: ReadonlyMap<number, FigureRow>): number | undefined {
  const received = [...rows].filter(([, row]) => (row[RECEIVED] ?? 0) > 0).map(([at]) => at);
  return received.length === 0 ? undefined : Math.max(...received);
}

function bySteps(
  rows: ReadonlyMap<number, FigureRow>,
  from: number,
  stepMs: number,
): Map<number, FigureRow> {
  const steps = new Map<number, FigureRow>();
  for (const [at, row] of rows) {
    const step = Math.floor((at - from) / stepMs);
    steps.set(step, mergeTimes(steps.get(step) ?? [], row));
  }
  return steps;
}
