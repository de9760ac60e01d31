import { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { MinuteCounters } from "../../figures/minute-counters.ts";
import {
  DELIVERED,
  DROPPED,
  FAILED,
  type FigureRow,
  mergeNodes,
  RECEIVED,
  rowOf,
} from "../../figures/row.ts";
import { connectionSeries, type Series, seriesOf } from "../../figures/series.ts";
import type { LaneGauges } from "./lane-gauges.ts";
import type { LaneHistories } from "./lane-history.ts";

export interface FigureSources {
  histories: LaneHistories;
  /** Transformation id → counts of the events over which the transformation's code has run. */
  runs: MinuteCounters;
  /** Source id → counts of this node's stored events, and of events with a repeated messageId. */
  received: MinuteCounters;
  /** Returns the id of a destination's workspace; undefined after the destination was deleted. */
  workspaceOf(destinationId: string): string | undefined;
  /** Returns the id of a source's workspace; undefined after the source was deleted. */
  workspaceOfSource(sourceId: string): string | undefined;
}

/**
 * Returns functions that read this node's event counts (`minute`) and the numbers of events that
 * wait for delivery (`lag`). Their results are stored as figures (statistics) of destinations,
 * sources, connections, workspaces and transformations.
 */
export function pipelineFigures(sources: FigureSources, lanes: () => Iterable<LaneGauges>) {
  const slicer = new TimeSlicer();
  return {
    minute: (at: number) => minuteFigures(sources, at),
    /**
     * Resolves with one row for each series (of a destination, workspace, source or connection)
     * whose events wait for delivery. A row has only the number of these events and the age of the
     * oldest.
     */
    async lag() {
      const rows = new Map<Series, FigureRow>();
      await slicer.each([...lanes()], (lane) => addLag(rows, lane));
      return rows;
    },
  };
}

/**
 * Returns for each series (such as that of a source) this node's counts of the minute that began at
 * `at`. Sources and workspaces count each received event once, but the outcomes of its outputs at
 * every destination.
 */
function minuteFigures(sources: FigureSources, at: number): Map<Series, FigureRow> {
  const { histories, runs, received } = sources;
  const rows = new Map<Series, FigureRow>();
  for (const [destinationId, { counters, sources: bySource }] of histories.minute(at)) {
    const workspaceId = sources.workspaceOf(destinationId);
    if (workspaceId === undefined) continue;
    const row = rowOf(counters);
    add(rows, seriesOf("destination", destinationId), row);
    add(rows, seriesOf("workspace", workspaceId), row);
    for (const [sourceId, counted] of bySource) {
      const ofSource = rowOf(counted);
      add(rows, seriesOf("destination", destinationId), [ofSource[RECEIVED] ?? 0]);
      add(rows, seriesOf("source", sourceId), outcomesOf(ofSource));
      add(rows, connectionSeries({ sourceId, destinationId }), ofSource);
    }
  }
  for (const [sourceId, row] of received.rows(at)) {
    const workspaceId = sources.workspaceOfSource(sourceId);
    if (workspaceId === undefined) continue;
    add(rows, seriesOf("source", sourceId), row);
    add(rows, seriesOf("workspace", workspaceId), [row[RECEIVED] ?? 0]);
  }
  for (const [id, row] of runs.rows(at)) add(rows, seriesOf("transformation", id), row);
  return rows;
}

/**
 * Adds the lag of a lane (a destination's delivery) to the rows of its destination, workspace,
 * sources and connections.
 */
function addLag(rows: Map<Series, FigureRow>, lane: LaneGauges): void {
  const events = lane.lagEvents();
  if (events === 0) return;
  const destinationId = lane.labels.destination;
  const row = rowOf([], { events, seconds: Math.ceil(lane.lagSeconds()) });
  add(rows, seriesOf("destination", destinationId), row);
  add(rows, seriesOf("workspace", lane.workspace), row);
  for (const sourceId of lane.sourceIds()) {
    add(rows, seriesOf("source", sourceId), row);
    add(rows, connectionSeries({ sourceId, destinationId }), row);
  }
}

function add(rows: Map<Series, FigureRow>, series: Series, row: FigureRow): void {
  const known = rows.get(series);
  rows.set(series, known === undefined ? row : mergeNodes(known, row));
}

function outcomesOf(row: FigureRow): FigureRow {
  return [0, row[DELIVERED] ?? 0, row[DROPPED] ?? 0, row[FAILED] ?? 0];
}
