/** A Prometheus expression, and the label of each line that the expression draws in a panel. */
type Line = [expression: string, legend: string];
/** A panel of the dashboard. `unit` is one of the names that Grafana has for units. */
type Panel = [title: string, unit: string, ...lines: Line[]];

/** Range of a Prometheus rate. Grafana replaces the variable by at least four scrape intervals. */
const RATE = "[$__rate_interval]";
const rate = (metric: string, by: string) => `sum by (${by}) (rate(${metric}${RATE}))`;
const quantile = (share: number, metric: string) =>
  `histogram_quantile(${share}, sum by (le) (rate(${metric}_bucket${RATE})))`;

const medianAnd99th = (metric: string): Line[] => [
  [quantile(0.5, metric), "median"],
  [quantile(0.99, metric), "99 %"],
];

/** Panels of the Grafana dashboard, in the order in which they are shown. */
const panels: readonly Panel[] = [
  ["Pixels", "reqps", [rate("pixelmill_pixel_requests_total", "status"), "{{status}}"]],
  ["Requests of SDKs", "reqps", [rate("pixelmill_sdk_requests_total", "status"), "{{status}}"]],
  ["Until events are on disk", "s", ...medianAnd99th("pixelmill_log_flush_seconds")],
  ["Events by outcome", "cps", [rate("pixelmill_lane_events_total", "outcome"), "{{outcome}}"]],
  [
    "Delivery attempts by verdict",
    "cps",
    [rate("pixelmill_delivery_attempts_total", "kind, verdict"), "{{kind}} {{verdict}}"],
  ],
  ["Time of a delivery", "s", ...medianAnd99th("pixelmill_delivery_seconds")],
  [
    "Oldest undelivered event",
    "s",
    ["max by (kind, name) (pixelmill_lane_lag_seconds)", "{{kind}} {{name}}"],
  ],
  [
    "Events that wait for delivery",
    "short",
    ["sum by (kind, name) (pixelmill_lane_lag_events)", "{{kind}} {{name}}"],
  ],
  ["Dead letters", "short", ["sum by (instance) (pixelmill_dead_letters)", "{{instance}}"]],
  ["Time of a batch in user code", "s", ...medianAnd99th("pixelmill_program_run_seconds")],
  [
    "Guests",
    "short",
    ["sum by (instance) (pixelmill_guests)", "{{instance}} alive"],
    ["sum by (instance) (pixelmill_guests_awaited)", "{{instance}} awaited"],
    ["sum by (instance) (pixelmill_programs_suspended)", "{{instance}} suspended"],
  ],
  [
    "Disk",
    "bytes",
    ["sum by (instance, part) (pixelmill_disk_used_bytes)", "{{instance}} {{part}}"],
    ["min by (instance) (pixelmill_disk_free_bytes)", "{{instance}} free"],
  ],
];

const WIDTH = 12;
const HEIGHT = 8;

/** Returns the dashboard as JSON that Grafana can import. */
export function dashboardText(): string {
  const datasource = { type: "prometheus", uid: "$datasource" };
  const dashboard = {
    title: "pixelmill",
    uid: "pixelmill",
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [{ name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" }],
    },
    panels: panels.map(([title, unit, ...lines], at) => ({
      id: at + 1,
      type: "timeseries",
      title,
      datasource,
      gridPos: { x: (at % 2) * WIDTH, y: Math.floor(at / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: lines.map(([expr, legendFormat], line) => ({
        refId: String.fromCharCode(65 + line),
        datasource,
        expr,
        legendFormat,
      })),
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
