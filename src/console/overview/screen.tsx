import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, Panel, ScreenHeader, Skeleton, StatList } from "../components/layout.tsx";
import { client, missingPermission, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";
import { ConnectionTable } from "./connection-table.tsx";
import { FlowGraphView } from "./flow-graph-view.tsx";
import type { Overview } from "./overview.ts";
import { ProblemList } from "./problem-list.tsx";

const ASKED_EVERY_MS = 3_000;

/** What the workspace does now, and what needs a person. */
export function Screen() {
  const permission = missingPermission("events:read");
  const { value, error, reload } = useResource(
    async () => (permission === undefined ? await client.call("GET /v2/overview") : undefined),
    [],
    ASKED_EVERY_MS,
  );
  return (
    <>
      <ScreenHeader title="Overview" />
      <ErrorNotice error={error} retry={reload} />
      {permission === undefined ? (
        <OverviewOrSkeleton overview={value} isAwaited={error === undefined} />
      ) : (
        <EmptyState
          icon="overview"
          title={session.value?.workspace.name ?? "Overview"}
        >{`Figures take the permission ${permission}. What you may do is in the bar.`}</EmptyState>
      )}
    </>
  );
}

function OverviewOrSkeleton(props: { overview: Overview | undefined; isAwaited: boolean }) {
  const { overview, isAwaited } = props;
  if (overview !== undefined) return <OverviewPanels overview={overview} />;
  return isAwaited ? <Skeleton /> : null;
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
      <Panel title="Way of the events">
        <FlowGraphView overview={overview} />
      </Panel>
      <Panel title="Connections" flush>
        <ConnectionTable overview={overview} />
      </Panel>
    </>
  );
}

function OverviewStats({ overview }: { overview: Overview }) {
  const sum = (of: (it: Overview["destinations"][number]) => number) =>
    overview.destinations.reduce((total, it) => total + of(it), 0);
  const received = overview.sources.reduce((total, it) => total + it.receivedPerSecond, 0);
  const oldest = Math.max(0, ...overview.destinations.map((it) => it.lagSeconds));
  const waiting = sum((it) => it.lagEvents);
  const figures = [
    ["Received", formatRate(received)],
    ["Delivered", formatRate(sum((it) => it.rates.delivered))],
    ["Failed", formatRate(sum((it) => it.rates.failed))],
    ["Waiting", formatCount(waiting)],
    ["Oldest waits for", waiting === 0 ? "–" : formatDuration(oldest)],
    ["Dead letters", formatCount(overview.totals.deadLetters)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

const steps = [
  {
    title: "Make a source",
    text: "It has the write key that your pages send.",
    href: hrefTo("sources", "new"),
  },
  {
    title: "Make a destination",
    text: "What takes the events: a webhook, a database, Kafka, an object store or a file.",
    href: hrefTo("destinations", "new"),
  },
  {
    title: "Connect them, and send a test event",
    text: "On the source's page; you see it arrive there.",
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
