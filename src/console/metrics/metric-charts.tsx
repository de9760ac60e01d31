import { useMemo, useState } from "preact/hooks";
import { Chart } from "../components/chart.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Select } from "../components/forms/fields.tsx";
import { Panel } from "../components/layout.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatChartDuration, formatCompact, formatDuration } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { metricTexts } from "../texts/metrics.ts";
import { type Metrics, perMinute, pointTimes, SECONDS_STEPS } from "./chart-values.ts";

type MetricsKind = "workspace" | "source" | "transformation" | "destination";

const ranges = [
  { value: "1h", text: metricTexts.lastHour, hours: 1, pollMs: 5_000 },
  { value: "24h", text: metricTexts.lastDay, hours: 24, pollMs: 30_000 },
  { value: "7d", text: metricTexts.lastWeek, hours: 168, pollMs: 60_000 },
  { value: "30d", text: metricTexts.lastMonth, hours: 720, pollMs: 60_000 },
];

/**
 * Charts of an item's metrics, such as a destination's, over a time range that the user selects.
 */
export function MetricCharts({ kind, id }: { kind: MetricsKind; id?: string }) {
  const [selected, select] = useState("1h");
  const range = ranges.find(({ value }) => value === selected) ?? ranges[0]!;
  const { value, error, reload } = useResource(
    () => {
      const from = new Date(Date.now() - range.hours * 3_600_000).toISOString();
      return client.call("GET /v2/metrics", { query: { kind, from, ...(id && { id }) } });
    },
    [kind, id, range.value],
    range.pollMs,
  );
  const { times, charts } = useMemo(() => {
    return { times: value && pointTimes(value), charts: chartsOf(kind, value) };
  }, [kind, value]);
  const missing = value?.missingNodes ?? [];
  const hasManyDestinations = kind === "workspace" || kind === "source";
  return (
    <div class="stack">
      <div class="row">
        <Select
          value={selected}
          options={ranges}
          onChange={select}
          attributes={{ "aria-label": metricTexts.range }}
        />
        {value && (
          <span class="quiet">
            {metricTexts.pointsExplained(value.stepSeconds)}{" "}
            {hasManyDestinations && metricTexts.perDestination}
          </span>
        )}
      </div>
      <ErrorNotice error={error} retry={reload} />
      {missing.length > 0 && <p class="notice">{metricTexts.incomplete(missing)}</p>}
      <div class="columns even">
        {charts.map(({ title, ...chart }) => (
          <Panel key={title} title={title}>
            <Chart label={title} times={times} {...chart} />
          </Panel>
        ))}
      </div>
    </div>
  );
}

/** Returns the charts for one kind of item. They have no values while `metrics` are loading. */
function chartsOf(kind: MetricsKind, metrics: Metrics | undefined) {
  const rate = (column: Parameters<typeof perMinute>[1]) =>
    metrics === undefined ? [] : perMinute(metrics, column);
  const line = (label: string, colour: string, values: (number | null)[]) => {
    return { label, colour, values };
  };
  const passed = kind === "transformation" ? commonTexts.passed : commonTexts.delivered;
  const counts = {
    title: metricTexts.eventsPerMinute,
    series: [
      line(commonTexts.received, "--accent", rate("received")),
      line(passed, "--good", rate("delivered")),
      line(commonTexts.dropped, "--quiet", rate("dropped")),
      line(commonTexts.failed, "--bad", rate("failed")),
      ...(kind === "source" ? [line(metricTexts.repeated, "--warn", rate("repeated"))] : []),
      ...(kind === "destination" ? [line(metricTexts.retried, "--warn", rate("retried"))] : []),
    ],
    format: (value: number) => formatCompact(Math.round(value * 10) / 10),
  };
  const latency = {
    title: kind === "destination" ? metricTexts.deliveryLatency : metricTexts.batchTime,
    series: [
      line(metricTexts.median, "--accent", metrics?.p50Ms ?? []),
      line(metricTexts.p99, "--quiet", metrics?.p99Ms ?? []),
    ],
    format: (value: number) => formatDuration(value / 1_000),
  };
  const lag = {
    title: metricTexts.oldestPending,
    series: [line(commonTexts.oldestPending, "--warn", metrics?.lagSeconds ?? [])],
    format: formatChartDuration,
    steps: SECONDS_STEPS,
  };
  if (kind === "transformation") return [counts, latency];
  return kind === "destination" ? [counts, latency, lag] : [counts, lag];
}
