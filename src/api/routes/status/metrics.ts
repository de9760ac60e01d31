import { Type } from "@sinclair/typebox";
import { unlessMissing } from "../../../errors.ts";
import { readPoints } from "../../../figures/figures.ts";
import { type SeriesKind, seriesKinds } from "../../../figures/series.ts";
import { ID_CHARS_MAX, PAGE_ITEMS_MAX } from "../../../settings/limits.ts";
import { component, oneOf, optionalInteger } from "../../../settings/schema-types.ts";
import { invalidValue } from "../../request/validation.ts";
import { readsEvents, route } from "../../route.ts";
import { Id, isoTime, MissingNodes, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { columnsOf, ownSeries, rangeOf, totalsOfAll } from "./figure-answers.ts";
import { unwrittenFigures } from "./node-status.ts";

const DAY_SECONDS = 86_400;

const Kind = oneOf(seriesKinds, { description: "What has the figures" });

const column = (description: string) =>
  Type.Array(Type.Union([Type.Number(), Type.Null()]), { description });

const columns = {
  received: column("Events received. Of a transformation: events that it ran over"),
  delivered: column("Outputs delivered. Of a transformation: events that it passed on"),
  dropped: column("Events that user code dropped"),
  failed: column("Outputs that became dead letters. Of a transformation: events that failed"),
  retried: column("Attempts that failed and are made again"),
  repeated: column(
    "Events of a source that it sent again, which are not delivered again; see its `dedupSeconds`",
  ),
  attempts: column("Deliveries tried. Of a transformation: batches run"),
  p50Ms: column("Median time of an attempt or a batch, rounded up"),
  p99Ms: column("99th percentile of the same"),
  lagEvents: column("Most events that were pending at the end of a minute"),
  lagSeconds: column("Greatest age of the oldest of them"),
};

const MetricsAnswer = Type.Object(
  {
    from: { ...Time, description: "Start of the first point" },
    to: { ...Time, description: "End of the last point" },
    stepSeconds: Type.Integer({ description: "Length of each point" }),
    recordedSeconds: Type.Array(Type.Number(), {
      description:
        "Seconds of each point in which figures were recorded, by the share of the partitions. " +
        "A point with 0 has null in all columns: it is a gap, not a zero",
    }),
    ...columns,
    missingNodes: MissingNodes,
  },
  {
    $id: "Metrics",
    description:
      "Figures by time, oldest first; each list has one value for each point, and the last point may be incomplete",
  },
);

const Sums = component("MetricSums", {
  received: Type.Integer(),
  delivered: Type.Integer(),
  dropped: Type.Integer(),
  failed: Type.Integer(),
  retried: Type.Integer(),
  repeated: Type.Integer({ description: "Of a source: events that it sent again" }),
});

const Totals = component("MetricTotals", {
  id: Type.String(),
  minute: { ...Sums, description: "The last whole minute" },
  day: { ...Sums, description: "This hour and the 24 before it" },
  month: { ...Sums, description: "The last 30 days" },
  lastReceivedAt: Type.Optional({
    ...Time,
    description: "Start of the last minute, or of the last hour after a day, with an event",
  }),
  lagEvents: Type.Integer({ description: "Pending events at the end of the last minute" }),
  lagSeconds: Type.Number({ description: "Age of the oldest of them" }),
});

const exampleSums = {
  received: 750,
  delivered: 720,
  dropped: 30,
  failed: 0,
  retried: 1,
  repeated: 0,
};

export const metricsRoutes = [
  route("GET /v2/metrics", {
    summary: "Tell the figures of a source, transformation, destination or connection by time",
    ...readsEvents,
    query: {
      kind: Type.Optional({ ...Kind, description: "`workspace` if absent, which needs no id" }),
      id: Type.Optional(Id),
      from: Type.Optional({ ...Time, description: "One hour before `to` if absent" }),
      to: Type.Optional({ ...Time, description: "Now if absent" }),
      step: optionalInteger(60, DAY_SECONDS, {
        multipleOf: 60,
        description:
          "Seconds of a point. Figures older than 24 hours have whole hours; without it, the " +
          "answer has the shortest step that fits",
      }),
    },
    answer: MetricsAnswer,
    example: {
      answer: {
        from: "2026-02-16T01:11:00.000Z",
        to: "2026-02-16T01:13:00.000Z",
        stepSeconds: 60,
        recordedSeconds: [60, 0],
        received: [750, null],
        delivered: [720, null],
        dropped: [30, null],
        failed: [0, null],
        retried: [1, null],
        repeated: [0, null],
        attempts: [721, null],
        p50Ms: [18, null],
        p99Ms: [87, null],
        lagEvents: [3, null],
        lagSeconds: [1, null],
      },
    },
    async handle({ deps, workspaceId, query }) {
      const { kind = "workspace", id } = query;
      const now = Date.now();
      const range = rangeOf(query, now);
      const series = ownSeries(deps, workspaceId, kind as SeriesKind, id);
      const { rows, missingNodes } = await unwrittenFigures(deps, workspaceId, [series]);
      const points = readPoints(deps.figures.tables(), series, range, rows);
      return {
        from: isoTime(range.from),
        to: isoTime(range.to),
        stepSeconds: range.stepMs / 1_000,
        ...columnsOf(series, points),
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),

  route("GET /v2/metrics/totals", {
    summary: "Tell the figures of several things over the last minute, 24 hours and 30 days",
    ...readsEvents,
    query: {
      kind: Type.Optional({ ...Kind, description: "`workspace` if absent, which needs no ids" }),
      ids: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: PAGE_ITEMS_MAX * (ID_CHARS_MAX + 1),
          description: `At most ${PAGE_ITEMS_MAX} ids with commas between; unknown ones are left out`,
        }),
      ),
    },
    answer: Type.Object({ items: Type.Array(Totals), missingNodes: MissingNodes }),
    example: {
      answer: {
        items: [
          {
            id: example.ids.destination,
            minute: exampleSums,
            day: exampleSums,
            month: exampleSums,
            lastReceivedAt: "2026-02-16T01:11:00.000Z",
            lagEvents: 3,
            lagSeconds: 1,
          },
        ],
      },
    },
    async handle({ deps, workspaceId, query, request }) {
      const { kind = "workspace" } = query;
      const ids = kind === "workspace" ? [workspaceId] : [...new Set((query.ids ?? "").split(","))];
      if (ids.length > PAGE_ITEMS_MAX) {
        throw invalidValue("?ids", `Expected at most ${PAGE_ITEMS_MAX} ids, got ${ids.length}`);
      }
      const known = ids.flatMap((id) => {
        const series = unlessMissing(() => ownSeries(deps, workspaceId, kind as SeriesKind, id));
        return series === undefined ? [] : [{ id, series }];
      });
      const { signal } = request;
      const { items, missingNodes } = await totalsOfAll(deps, workspaceId, known, signal);
      return { items, ...(missingNodes.length > 0 && { missingNodes }) };
    },
  }),
] as const;
