import { useEffect, useRef, useState } from "preact/hooks";
import { loadPart } from "../data/load-part.ts";
import { theme } from "../data/theme.ts";
import { ErrorNotice } from "./error-notice.tsx";
import { SkeletonLine } from "./layout.tsx";
import { formatClock, formatDay, formatTime } from "./time.tsx";
import "uplot/dist/uPlot.min.css";

interface ChartSeries {
  label: string;
  /** Name of the CSS variable that has the colour of the line, such as `--good`. */
  colour: string;
  values: readonly (number | null)[];
}

interface ChartProps {
  /** Name of the chart for screen readers. */
  label: string;
  /** Times of the values, in seconds since the epoch. Undefined while they are loading. */
  times: readonly number[] | undefined;
  series: readonly ChartSeries[];
  /**
   * Converts a value to its text on the value axis, in the legend and in the summary for screen
   * readers.
   */
  format: (value: number) => string;
  /**
   * Step sizes of the value axis, from which the chart chooses one. A step is the difference
   * between two neighbouring labels. It must be so large that `format` gives them different texts.
   */
  steps?: readonly number[];
}

const HEIGHT = 180;
/**
 * Number of seconds from which a time axis is labelled with days. A shorter axis is labelled with
 * times of day.
 */
const DAYS_AXIS_SECONDS_MIN = 172_800;

/**
 * Returns the labels of a time axis: days if it spans at least `DAYS_AXIS_SECONDS_MIN`, otherwise
 * hours and minutes.
 */
function timeLabels({ scales }: uPlot, times: readonly number[]): string[] {
  const { min = 0, max = 0 } = scales.x ?? {};
  const isLong = (max ?? 0) - (min ?? 0) >= DAYS_AXIS_SECONDS_MIN;
  return times.map((seconds) => (isLong ? formatDay : formatClock)(seconds * 1_000));
}

/**
 * Default step sizes of the value axis: 1, 2 and 5 times each power of ten. With steps below 1,
 * neighbouring labels could have equal texts.
 */
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) => 10 ** power).flatMap((it) => [
  it,
  2 * it,
  5 * it,
]);

/**
 * Line chart of values over time. A legend shows the time and values of the point under the
 * pointer. The first chart loads the library uPlot.
 */
export function Chart({ label, times, series, format, steps = WHOLE_STEPS }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  /** Index in `times` of the point under the pointer. */
  const [pointed, setPointed] = useState<number | null>();
  const [error, setError] = useState<unknown>();
  const at = typeof pointed === "number" ? times?.[pointed] : undefined;
  useEffect(() => {
    if (times === undefined) return;
    let destroy = () => {};
    let isUnmounted = false;
    const loading = loadPart(() => import("uplot"));
    void loading.then(({ default: Plot }) => {
      const element = container.current;
      if (isUnmounted || element === null) return;
      setError(undefined);
      const draw = () => {
        const options = {
          ...optionsOf(element.clientWidth, series, format, steps),
          hooks: { setCursor: [({ cursor }: uPlot) => setPointed(cursor.idx)] },
        };
        const data: uPlot.AlignedData = [[...times], ...series.map(({ values }) => [...values])];
        return new Plot(options, data, element);
      };
      let plot = draw();
      const redraw = () => {
        plot.destroy();
        plot = draw();
      };
      const resizing = new ResizeObserver(() => {
        if (element.clientWidth !== plot.width) plot.setSize(sizeOf(element.clientWidth));
      });
      resizing.observe(element);
      const dark = matchMedia("(prefers-color-scheme: dark)");
      dark.addEventListener("change", redraw);
      destroy = () => {
        dark.removeEventListener("change", redraw);
        resizing.disconnect();
        plot.destroy();
      };
    }, setError);
    return () => {
      isUnmounted = true;
      destroy();
    };
  }, [times, series, theme.value]);
  return (
    <figure class="stack close">
      <ErrorNotice error={error} retry={() => location.reload()} />
      <div
        ref={container}
        class="chart"
        role="img"
        aria-label={`${label}: ${summaryOf(series, format)}`}
      >
        {times === undefined && <SkeletonLine />}
      </div>
      <figcaption class="legend">
        {series.map((line) => (
          <span key={line.label}>
            <i style={{ background: `var(${line.colour})` }} />
            {line.label}
            {at !== undefined && (
              <b class="tabular">{valueText(line.values[pointed ?? 0], format)}</b>
            )}
          </span>
        ))}
        {at !== undefined && <time class="tabular">{formatTime(at * 1_000)}</time>}
      </figcaption>
    </figure>
  );
}

/** Returns the text of a value, or a dash if there is no value. */
function valueText(value: number | null | undefined, write: (value: number) => string): string {
  return value === null || value === undefined ? "–" : write(value);
}

/** Returns a text for screen readers: the name and last value of each line in the chart. */
function summaryOf(series: readonly ChartSeries[], write: (value: number) => string): string {
  return series
    .map(({ label, values }) => `${label} ${write(values.findLast((it) => it !== null) ?? 0)}`)
    .join(", ");
}

const sizeOf = (width: number) => ({ width, height: HEIGHT });

function optionsOf(
  width: number,
  series: readonly ChartSeries[],
  write: (value: number) => string,
  steps: readonly number[],
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => resolveColour(style.getPropertyValue(name));
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    ...sizeOf(width),
    legend: { show: false },
    padding: [8, 12, 0, 0],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, space: 64, size: 28, values: timeLabels },
      { ...axis, size: 48, incrs: [...steps], values: (_, values) => values.map(write) },
    ],
    series: [
      {},
      ...series.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.5,
        points: { size: 4 },
        spanGaps: false,
      })),
    ],
  };
}

/**
 * Resolves a CSS value such as `light-dark(…)` to a colour in the current theme. A canvas does not
 * support `light-dark()`, so the function reads the computed style of an element that has this
 * colour.
 */
function resolveColour(value: string): string {
  const probe = document.createElement("i");
  probe.style.color = value;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
