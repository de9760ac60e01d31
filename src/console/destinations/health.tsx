import { useMemo } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Chart } from "../components/chart.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, StatList } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import type { DestinationOverview } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCompact, formatCount, formatDuration, formatRate } from "../format.ts";

type HistoryMinute = AnswerOf<"GET /v2/destinations/{id}/history">["minutes"][number];

const POLL_MS = 5_000;

/** Current figures of a destination, and charts of its last hour. */
export function Health({ destinationId: id }: { destinationId: string }) {
  const permission = missingPermission("events:read");
  const { value, error, reload } = useResource(
    async () => {
      if (permission !== undefined) return undefined;
      const [history, overview] = await Promise.all([
        client.call("GET /v2/destinations/{id}/history", { params: { id } }),
        client.call("GET /v2/overview"),
      ]);
      return {
        minutes: history.minutes,
        state: overview.destinations.find((it) => it.id === id),
        missingNodes: history.missingNodes ?? overview.missingNodes ?? [],
      };
    },
    [id],
    POLL_MS,
  );
  if (permission !== undefined) {
    return <p class="notice">Figures require {permission}.</p>;
  }
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {value !== undefined && value.missingNodes.length > 0 && (
        <p class="notice">
          Figures are incomplete: no answer from {value.missingNodes.join(", ")}.
        </p>
      )}
      {value?.state?.since && <DownNotice state={value.state} since={value.state.since} />}
      <Figures state={value?.state} />
      <Charts minutes={value?.minutes} />
    </>
  );
}

function DownNotice({ state: { reason }, since }: { state: DestinationOverview; since: string }) {
  return (
    <div class="error" role="alert">
      <p>
        No successful delivery since <Time at={since} />
        {reason && `: ${reason}`}
      </p>
    </div>
  );
}

function Figures({ state }: { state: DestinationOverview | undefined }) {
  const rates = state?.rates;
  const figures = [
    ["Delivered", rates && formatRate(rates.delivered)],
    ["Failed", rates && formatRate(rates.failed)],
    ["Dropped by transformation", rates && formatRate(rates.dropped)],
    ["Pending", state && formatCount(state.lagEvents)],
    ["Oldest pending", state && (state.lagEvents === 0 ? "–" : formatDuration(state.lagSeconds))],
    ["Dead letters", state && formatCount(state.deadLetters)],
  ] as const;
  return <StatList figures={figures} />;
}

function Charts({ minutes }: { minutes: readonly HistoryMinute[] | undefined }) {
  const { times, counts, latency } = useMemo(() => {
    const all = minutes ?? [];
    const values = (key: keyof HistoryMinute) =>
      all.map((minute) => (minute[key] as number) ?? null);
    return {
      times: minutes && all.map(({ at }) => Date.parse(at) / 1_000),
      counts: [
        { label: "Delivered", colour: "--good", values: values("delivered") },
        { label: "Failed", colour: "--bad", values: values("failed") },
        { label: "Retried", colour: "--warn", values: values("retried") },
      ],
      latency: [
        { label: "Median", colour: "--accent", values: values("p50Ms") },
        { label: "p99", colour: "--quiet", values: values("p99Ms") },
      ],
    };
  }, [minutes]);
  return (
    <div class="columns even">
      <Panel title="Events per minute">
        <Chart label="Events per minute" times={times} series={counts} format={formatCompact} />
      </Panel>
      <Panel title="Delivery latency">
        <Chart
          label="Delivery latency"
          times={times}
          series={latency}
          format={(value) => formatDuration(value / 1_000)}
        />
      </Panel>
    </div>
  );
}
