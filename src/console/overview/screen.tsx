import { EmptyState, Panel, ScreenHeader, StatList } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import type { DestinationOverview, Overview } from "../data/model.ts";
import { client, missingPermission, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";
import { ConnectionTable } from "./connection-table.tsx";
import { FlowGraphView } from "./flow-graph-view.tsx";
import { ProblemList } from "./problem-list.tsx";

const POLL_MS = 3_000;

/** Overview screen, with the problems and current figures of the workspace. */
export function Screen() {
  const permission = missingPermission("events:read");
  return (
    <>
      <ScreenHeader title="Overview" />
      {permission === undefined ? (
        <LiveOverview />
      ) : (
        <EmptyState
          icon="overview"
          title={session.value?.workspace.name ?? "Overview"}
        >{`Figures require ${permission}. The sidebar lists the other screens.`}</EmptyState>
      )}
    </>
  );
}

function LiveOverview() {
  const resource = useResource(() => client.call("GET /v2/overview"), [], POLL_MS);
  return (
    <Loaded resource={resource}>{(overview) => <OverviewPanels overview={overview} />}</Loaded>
  );
}

function OverviewPanels({ overview }: { overview: Overview }) {
  if (overview.totals.sources === 0 && overview.totals.destinations === 0) {
    return (
      <>
        <ProblemList problems={overview.problems} />
        <FirstSteps />
      </>
    );
  }
  return (
    <>
      <ProblemList problems={overview.problems} />
      <OverviewStats overview={overview} />
      <Panel title="Event flow">
        <FlowGraphView overview={overview} />
      </Panel>
      <Panel title="Connections" flush>
        <ConnectionTable overview={overview} />
      </Panel>
    </>
  );
}

function OverviewStats({ overview }: { overview: Overview }) {
  const sum = (select: (it: DestinationOverview) => number) =>
    overview.destinations.reduce((total, it) => total + select(it), 0);
  const received = overview.sources.reduce((total, it) => total + it.receivedPerSecond, 0);
  const oldest = Math.max(0, ...overview.destinations.map((it) => it.lagSeconds));
  const pending = sum((it) => it.lagEvents);
  const figures = [
    ["Received", formatRate(received)],
    ["Delivered", formatRate(sum((it) => it.rates.delivered))],
    ["Failed", formatRate(sum((it) => it.rates.failed))],
    ["Pending", formatCount(pending)],
    ["Oldest pending", pending === 0 ? "–" : formatDuration(oldest)],
    ["Dead letters", formatCount(overview.totals.deadLetters)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

const steps = [
  {
    title: "Create a source",
    text: "Your pages send its write key with each event.",
    href: hrefTo("sources", "new"),
  },
  {
    title: "Create a destination",
    text: "It receives the events: a webhook, a database, Kafka, an object store or a file.",
    href: hrefTo("destinations", "new"),
  },
  {
    title: "Connect them, and send a test event",
    text: "The page of the source shows its delivery.",
    href: hrefTo("sources"),
  },
  {
    title: "Write a transformation",
    text: "JavaScript or Python that changes, drops or adds events.",
    href: hrefTo("transformations"),
  },
];

function FirstSteps() {
  return (
    <Panel title="First steps">
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
