import { EmptyState, Loaded, Panel, ScreenHeader, StatList } from "../components/layout.tsx";
import type { Overview } from "../data/model.ts";
import { missingPermission, session } from "../data/session.ts";
import { useAnswer } from "../data/use-resource.ts";
import { formatCount, formatDuration, formatRate, isolated } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { metricTexts } from "../texts/metrics.ts";
import { overviewTexts } from "../texts/overview.ts";
import { ConnectionTable } from "./connection-table.tsx";
import { FlowGraphView } from "./flow-graph-view.tsx";
import { ProblemList } from "./problem-list.tsx";

const POLL_MS = 3_000;

/** Overview screen. It shows the problems and the current event rates of the workspace. */
export function Screen() {
  const permission = missingPermission("events:read");
  return (
    <>
      <ScreenHeader title={commonTexts.overview} />
      {permission === undefined ? (
        <LiveOverview />
      ) : (
        <EmptyState
          icon="overview"
          title={isolated(session.value?.workspace.name ?? commonTexts.overview)}
          text={overviewTexts.figuresRequire(permission)}
        />
      )}
    </>
  );
}

function LiveOverview() {
  const resource = useAnswer("GET /v2/overview", {}, POLL_MS);
  return (
    <Loaded resource={resource}>{(overview) => <OverviewPanels overview={overview} />}</Loaded>
  );
}

function OverviewPanels({ overview }: { overview: Overview }) {
  if (overview.totals.sources === 0 && overview.totals.destinations === 0) {
    return (
      <>
        <ProblemList problems={overview.problems} total={overview.totals.problems} />
        <FirstSteps />
      </>
    );
  }
  return (
    <>
      <ProblemList problems={overview.problems} total={overview.totals.problems} />
      <OverviewStats overview={overview} />
      <MetricCharts kind="workspace" />
      <Panel title={overviewTexts.eventFlow}>
        <FlowGraphView overview={overview} />
      </Panel>
      <Panel title={overviewTexts.connections} flush>
        <ConnectionTable />
      </Panel>
    </>
  );
}

function OverviewStats({ overview: { totals } }: { overview: Overview }) {
  const { rates, lagEvents, lagSeconds, deadLetters } = totals;
  const figures = [
    [metricTexts.lastMinute(commonTexts.received), formatRate(rates.received)],
    [metricTexts.lastMinute(commonTexts.delivered), formatRate(rates.delivered)],
    [metricTexts.lastMinute(commonTexts.failed), formatRate(rates.failed)],
    [commonTexts.pending, formatCount(lagEvents)],
    [
      commonTexts.oldestPending,
      lagEvents === 0 ? commonTexts.noFigure : formatDuration(lagSeconds),
    ],
    [commonTexts.deadLetters, formatCount(deadLetters)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

const stepTexts = overviewTexts.steps;
const steps = [
  { ...stepTexts.source, href: hrefTo("sources", "new") },
  { ...stepTexts.destination, href: hrefTo("destinations", "new") },
  { ...stepTexts.testEvent, href: hrefTo("sources") },
  { ...stepTexts.transformation, href: hrefTo("transformations") },
];

function FirstSteps() {
  return (
    <Panel title={overviewTexts.firstSteps}>
      <ol class="first-steps">
        {steps.map(({ title, text, href }, index) => (
          <li key={title}>
            <span class="step" aria-hidden="true">
              {index + 1}
            </span>
            <div>
              <a href={href}>{title}</a>
              <p class="quiet">{text}</p>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
