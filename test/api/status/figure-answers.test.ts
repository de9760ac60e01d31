import { expect, test } from "bun:test";
import { columnsOf, ownSeries } from "../../../src/api/routes/status/figure-answers.ts";
import type { StatusDeps } from "../../../src/api/routes/status/local-status.ts";
import { ApiError } from "../../../src/errors.ts";
import {
  connectionSeries,
  type SeriesKind,
  seriesKinds,
  seriesOf,
} from "../../../src/figures/series.ts";

const points = [
  // The buckets of the histogram end at 1.5 ** 2, 1.5 ** 3 and 1.5 ** 5 ms.
  { at: 0, recordedSeconds: 60, row: [9, 8, 7, 6, 5, 4, 3, 2, 10, 3, 80, 5, 10] },
  { at: 60_000, recordedSeconds: 0, row: [1, 1, 1, 1, 1, 1, 1] },
  { at: 120_000, recordedSeconds: 0.5, row: [] },
];

test("a chart has each figure of a destination in its column, and null where none was recorded", () => {
  expect(columnsOf(seriesOf("destination", "d"), points)).toEqual({
    recordedSeconds: [60, 0, 0.5],
    received: [9, null, 0],
    delivered: [8, null, 0],
    dropped: [7, null, 0],
    failed: [6, null, 0],
    retried: [5, null, 0],
    repeated: [0, null, 0],
    attempts: [100, null, 0],
    p50Ms: [3, null, null],
    p99Ms: [8, null, null],
    lagEvents: [4, null, 0],
    lagSeconds: [3, null, 0],
  });
});

test("a chart of a source has repeated events, and no retries", () => {
  const { retried, repeated } = columnsOf(seriesOf("source", "s"), points);
  expect([retried, repeated]).toEqual([
    [0, null, 0],
    [5, null, 0],
  ]);
});

test("the figures of an item are found by its kind, and only in its own workspace", () => {
  const ends = { sourceId: "s", destinationId: "d" };
  const found = (kind: string, workspaceId: string, id: string) => {
    if (workspaceId !== "w") throw new ApiError("missing", `No ${kind}`);
    return { id: `${kind} ${id}`, ...ends };
  };
  const of = (kind: string) => ({ get: found.bind(undefined, kind) });
  const deps = {
    catalog: {
      ...{ sources: of("source"), destinations: of("destination"), connections: of("connection") },
      code: {
        resource: (workspaceId: string, kind: string, id: string) => found(kind, workspaceId, id),
      },
    },
  } as unknown as StatusDeps;
  const expected: Record<SeriesKind, string> = {
    workspace: seriesOf("workspace", "w"),
    source: seriesOf("source", "source a"),
    transformation: seriesOf("transformation", "transformation a"),
    destination: seriesOf("destination", "destination a"),
    connection: connectionSeries(ends),
  };
  for (const kind of seriesKinds) {
    expect(ownSeries(deps, "w", kind, "a")).toBe(expected[kind]);
    if (kind === "workspace") continue;
    expect(() => ownSeries(deps, "x", kind, "a")).toThrow(`No ${kind}`);
    const lacking = `Expected the id of a ${kind} at ?id, got nothing`;
    expect(() => ownSeries(deps, "w", kind)).toThrow(lacking);
  }
});
