import { useMemo } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import type { Destination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Chart } from "../parts/chart.tsx";
import { Fault } from "../parts/fault.tsx";
import { FigureList, Panel } from "../parts/layout.tsx";
import { Time } from "../parts/time.tsx";
import { client, lacking } from "../session.ts";
import { brief, count, rate, span } from "../text.ts";

type Minute = AnswerOf<"GET /v2/destinations/{id}/history">["minutes"][number];
type State = AnswerOf<"GET /v2/overview">["destinations"][number];

const ASKED_EVERY_MS = 5_000;

/** What a destination does now, and did in the last hour. */
export function Health({ destination: { id } }: { destination: Destination }) {
  const permission = lacking("events:read");
  const { value, error, reload } = useLoaded(
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
    ASKED_EVERY_MS,
  );
  if (permission !== undefined) {
    return <p class="notice">Its figures take the permission {permission}.</p>;
  }
  return (
    <>
      <Fault error={error} retry={reload} />
      {value !== undefined && value.missingNodes.length > 0 && (
        <p class="notice">
          Not all figures are here: {value.missingNodes.join(", ")} did not answer.
        </p>
      )}
      {value?.state?.since && <Down state={value.state} since={value.state.since} />}
      <Figures state={value?.state} />
      <Charts minutes={value?.minutes} />
    </>
  );
}

function Down({ state: { reason }, since }: { state: State; since: string }) {
  return (
    <div class="fault" role="alert">
      <p>
        Nothing got through since <Time at={since} />
        {reason && `: ${reason}`}
      </p>
    </div>
  );
}

function Figures({ state }: { state: State | undefined }) {
  const rates = state?.rates;
  const figures = [
    ["Delivered", rates && rate(rates.delivered)],
    ["Failed", rates && rate(rates.failed)],
    ["Dropped by code", rates && rate(rates.dropped)],
    ["Waiting", state && count(state.lagEvents)],
    ["Oldest waits for", state && (state.lagEvents === 0 ? "–" : span(state.lagSeconds))],
    ["Dead letters", state && count(state.deadLetters)],
  ] as const;
  return <FigureList figures={figures} />;
}

function Charts({ minutes }: { minutes: readonly Minute[] | undefined }) {
  const { times, counts, latency } = useMemo(() => {
    const all = minutes ?? [];
    const values = (key: keyof Minute) => all.map((minute) => (minute[key] as number) ?? null);
    return {
      times: minutes && all.map(({ at }) => Date.parse(at) / 1_000),
      counts: [
        { label: "Delivered", colour: "--good", values: values("delivered") },
        { label: "Failed", colour: "--bad", values: values("failed") },
        { label: "Retried", colour: "--warn", values: values("retried") },
      ],
      latency: [
        { label: "Median", colour: "--accent", values: values("p50Ms") },
        { label: "99 of 100 within", colour: "--quiet", values: values("p99Ms") },
      ],
    };
  }, [minutes]);
  return (
    <div class="columns even">
      <Panel title="Events a minute">
        <Chart label="Events a minute" times={times} series={counts} write={brief} />
      </Panel>
      <Panel title="Time of an attempt">
        <Chart
          label="Time of an attempt"
          times={times}
          series={latency}
          write={(value) => span(value / 1_000)}
        />
      </Panel>
    </div>
  );
}
