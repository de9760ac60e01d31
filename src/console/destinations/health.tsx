import { StatList } from "../components/layout.tsx";
import type { DestinationOverview } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { RecentEvents } from "../tail/recent-events.tsx";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { metricTexts } from "../texts/metrics.ts";

/** Shows a destination's current figures, its recent events, and charts of its past. */
export function Health(props: {
  destinationId: string;
  state: DestinationOverview | undefined;
  /** Ids of the nodes that did not answer. The figures do not include the events of these nodes. */
  missingNodes: readonly string[];
}) {
  const { destinationId, state, missingNodes } = props;
  const permission = missingPermission("events:read");
  if (permission !== undefined) {
    return <p class="notice">{destinationTexts.figuresRequire(permission)}</p>;
  }
  return (
    <>
      {missingNodes.length > 0 && (
        <p class="notice">{destinationTexts.figuresIncomplete(missingNodes)}</p>
      )}
      <Figures state={state} />
      <RecentEvents of={{ destinationId }} />
      <MetricCharts kind="destination" id={destinationId} />
    </>
  );
}

function Figures({ state }: { state: DestinationOverview | undefined }) {
  const rates = state?.rates;
  const figures = [
    [metricTexts.lastMinute(commonTexts.delivered), rates && formatRate(rates.delivered)],
    [metricTexts.lastMinute(commonTexts.failed), rates && formatRate(rates.failed)],
    [metricTexts.lastMinute(commonTexts.dropped), rates && formatRate(rates.dropped)],
    [commonTexts.pending, state && formatCount(state.lagEvents)],
    [
      commonTexts.oldestPending,
      state && (state.lagEvents === 0 ? "–" : formatDuration(state.lagSeconds)),
    ],
    [commonTexts.deadLetters, state && formatCount(state.deadLetters)],
  ] as const;
  return <StatList figures={figures} />;
}
