import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Empty, FigureList, Head, Panel, Skeleton } from "../parts/layout.tsx";
import { to } from "../router.ts";
import { client, lacking, session } from "../session.ts";
import { count, rate, span } from "../text.ts";
import { ConnectionTable } from "./connections.tsx";
import { Graph } from "./graph.tsx";
import type { Overview } from "./overview.ts";
import { Problems } from "./problems.tsx";

const ASKED_EVERY_MS = 3_000;

/** What the workspace does now, and what needs a person. */
export function Screen() {
  const permission = lacking("events:read");
  const { value, error, reload } = useLoaded(
    async () => (permission === undefined ? await client.call("GET /v2/overview") : undefined),
    [],
    ASKED_EVERY_MS,
  );
  return (
    <>
      <Head title="Overview" />
      <Fault error={error} retry={reload} />
      {permission === undefined ? (
        <Loaded overview={value} isAwaited={error === undefined} />
      ) : (
        <Empty
          icon="overview"
          title={session.value?.workspace.name ?? "Overview"}
        >{`Figures take the permission ${permission}. What you may do is in the bar.`}</Empty>
      )}
    </>
  );
}

function Loaded(props: { overview: Overview | undefined; isAwaited: boolean }) {
  const { overview, isAwaited } = props;
  if (overview !== undefined) return <Shown overview={overview} />;
  return isAwaited ? <Skeleton /> : null;
}

function Shown({ overview }: { overview: Overview }) {
  if (overview.totals.sources === 0 && overview.totals.destinations === 0) {
    return (
      <>
        <Problems problems={overview.problems} />
        <FirstSteps />
      </>
    );
  }
  return (
    <>
      <Problems problems={overview.problems} />
      <Figures overview={overview} />
      <Panel title="Way of the events">
        <Graph overview={overview} />
      </Panel>
      <Panel title="Connections" flush>
        <ConnectionTable overview={overview} />
      </Panel>
    </>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const sum = (of: (it: Overview["destinations"][number]) => number) =>
    overview.destinations.reduce((total, it) => total + of(it), 0);
  const received = overview.sources.reduce((total, it) => total + it.receivedPerSecond, 0);
  const oldest = Math.max(0, ...overview.destinations.map((it) => it.lagSeconds));
  const waiting = sum((it) => it.lagEvents);
  const figures = [
    ["Received", rate(received)],
    ["Delivered", rate(sum((it) => it.rates.delivered))],
    ["Failed", rate(sum((it) => it.rates.failed))],
    ["Waiting", count(waiting)],
    ["Oldest waits for", waiting === 0 ? "–" : span(oldest)],
    ["Dead letters", count(overview.totals.deadLetters)],
  ] as const;
  return <FigureList class="six" figures={figures} />;
}

const steps = [
  {
    title: "Make a source",
    text: "It has the write key that your pages send.",
    href: to("sources", "new"),
  },
  {
    title: "Make a destination",
    text: "What takes the events: a webhook, a database, Kafka, an object store or a file.",
    href: to("destinations", "new"),
  },
  {
    title: "Connect them, and send a test event",
    text: "On the source's page; you see it arrive there.",
    href: to("sources"),
  },
  {
    title: "Write a transformation",
    text: "JavaScript or Python that changes, drops or adds events.",
    href: to("transformations"),
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
