import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Icon } from "../components/icon.tsx";
import {
  Badge,
  type Fact,
  FactList,
  Loaded,
  Panel,
  ScreenHeader,
  StatList,
} from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatBytes, formatCount, formatDuration } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { systemTexts } from "../texts/system.ts";

type System = AnswerOf<"GET /v2/system">;

const POLL_MS = 5_000;

/** Screen with the state, resource use and limits of the server. */
export function Screen() {
  const resource = useResource(() => client.call("GET /v2/system"), [], POLL_MS);
  const isReady = resource.value?.readiness.ready;
  return (
    <>
      <ScreenHeader
        title={commonTexts.system}
        status={
          isReady !== undefined && stateBadge(isReady, systemTexts.ready, systemTexts.notReady)
        }
      />
      <Loaded resource={resource}>
        {(system) => (
          <>
            <StatList class="six" figures={statsOf(system)} />
            <div class="columns even">
              <Panel title={systemTexts.checks}>
                <FactList facts={checksOf(system)} />
                {system.readiness.warnings.map((warning) => (
                  <p class="notice warn" key={warning}>
                    {warning}
                  </p>
                ))}
              </Panel>
              <Panel title={systemTexts.disk}>
                <FactList facts={diskUseOf(system)} />
              </Panel>
              <Panel title={commonTexts.events}>
                <FactList facts={storedEventsOf(system)} />
              </Panel>
            </div>
            <Nodes />
            <Panel title={systemTexts.processes} flush>
              <Table
                label={systemTexts.processes}
                columns={processColumns}
                rows={system.processes}
                keyOf={({ name }) => name}
              />
            </Panel>
            <Limits limits={system.limits} />
          </>
        )}
      </Loaded>
    </>
  );
}

const stateBadge = (isGood: boolean, good: string, bad: string) => (
  <Badge tone={isGood ? "good" : "bad"}>{isGood ? good : bad}</Badge>
);

const processColumns: Column<System["processes"][number]>[] = [
  column.name(systemTexts.process, ({ name: process }) => process),
  column.wideNumber(systemTexts.memory, ({ residentBytes }) => formatBytes(residentBytes)),
  column.wideNumber(systemTexts.cpuTime, ({ cpuSeconds }) => formatDuration(cpuSeconds)),
];

const statsOf = ({ version, bun, uptimeSeconds, guests, memory }: System) =>
  [
    [systemTexts.version, version],
    [systemTexts.bun, bun],
    [systemTexts.uptime, formatDuration(uptimeSeconds)],
    [systemTexts.sandboxes, countOrNone(guests.alive)],
    [systemTexts.sandboxQueue, countOrNone(guests.awaited)],
    [systemTexts.memoryFree, formatBytes(memory.freeBytes)],
  ] as const;

/**
 * Formats a count, or returns a dash for undefined. A server with several workspaces does not
 * report the figures that concern all workspaces together.
 */
const countOrNone = (count: number | undefined) => (count === undefined ? "–" : formatCount(count));

const checksOf = ({ readiness: { checks } }: System): Fact[] =>
  Object.entries(checks).map(([name, { ok, message }]) => [
    name,
    <>
      {stateBadge(ok, systemTexts.ok, commonTexts.failing)}
      {message}
    </>,
  ]);

function diskUseOf({ disk: { used, freeBytes } }: System): Fact[] {
  const sizes = Object.entries(used).sort(([, one], [, other]) => other - one);
  const largest = Math.max(1, ...sizes.map(([, size]) => size));
  return [
    ...sizes.map(
      ([name, size]): Fact => [
        name,
        <>
          <progress aria-hidden="true" max={largest} value={size} />
          <span class="tabular">{formatBytes(size)}</span>
        </>,
      ],
    ),
    [systemTexts.free, <span class="tabular">{formatBytes(freeBytes)}</span>],
  ];
}

function storedEventsOf({ events: { bytes, oldestAt, retention } }: System): (Fact | false)[] {
  const bounds = [
    ...(retention.seconds > 0 ? [formatDuration(retention.seconds)] : []),
    ...(retention.bytes > 0 ? [formatBytes(retention.bytes)] : []),
  ];
  return [
    bytes !== undefined && [systemTexts.stored, <span class="tabular">{formatBytes(bytes)}</span>],
    bytes !== undefined && [
      systemTexts.oldest,
      oldestAt === undefined ? commonTexts.none : <Time at={oldestAt} />,
    ],
    [systemTexts.retainedAfterDelivery, systemTexts.retention(bounds)],
  ];
}

/** Table of the cluster's nodes and their partitions. Shows nothing if there is no cluster. */
function Nodes() {
  const { value } = useResource(() => client.call("GET /v2/cluster"), [], POLL_MS);
  if (value === undefined || value.nodes.length === 0) return null;
  return (
    <Panel title={systemTexts.nodes} flush>
      {value.problems.length > 0 && (
        <ul>
          {value.problems.map((problem) => (
            <li class="entry" key={problem}>
              <span class="warn">
                <Icon name="alert" />
              </span>
              {problem}
            </li>
          ))}
        </ul>
      )}
      <Table
        label={systemTexts.nodes}
        columns={nodeColumns}
        rows={nodeRowsOf(value)}
        keyOf={({ id }) => id}
      />
    </Panel>
  );
}

/**
 * Returns the nodes of a cluster, each with its partitions and the number of pending events in
 * them.
 */
function nodeRowsOf({ node, nodes, partitions }: AnswerOf<"GET /v2/cluster">) {
  return nodes.map((it) => {
    const owned = partitions.filter((partition) => partition.node === it.id);
    return {
      ...it,
      isCurrent: it.id === node,
      partitions: owned.map(({ partition }) => partition).join(", ") || commonTexts.none,
      lagEvents: owned.reduce((sum, { lagEvents = 0 }) => sum + lagEvents, 0),
    };
  });
}

const nodeColumns: Column<ReturnType<typeof nodeRowsOf>[number]>[] = [
  column.name(systemTexts.node, ({ id, isCurrent, answers }) => (
    <>
      {id} {isCurrent && <Badge tone="good">{systemTexts.thisNode}</Badge>}
      {!answers && <Badge tone="bad">{systemTexts.noAnswer}</Badge>}
    </>
  )),
  column.plain(systemTexts.version, ({ version }) => version),
  column.plain(systemTexts.controlPlane, ({ controlPlaneUrl }) => <code>{controlPlaneUrl}</code>),
  column.plain(systemTexts.partitions, ({ partitions }) => partitions),
  column.wideNumber(systemTexts.lag, ({ lagEvents }) => formatCount(lagEvents)),
];

const limitColumns: Column<[string, number]>[] = [
  column.name(systemTexts.limit, ([limit]) => <code>{limit}</code>),
  column.wideNumber(commonTexts.value, ([, value]) => formatCount(value)),
];

function Limits({ limits }: { limits: System["limits"] }) {
  const [text, setText] = useState("");
  const upperCase = text.trim().toUpperCase().replaceAll(" ", "_");
  const rows = Object.entries(limits).filter(([name]) => name.includes(upperCase));
  return (
    <Panel
      title={systemTexts.limits}
      flush
      actions={<SearchField label={systemTexts.searchLimits} value={text} onInput={setText} />}
    >
      <div class="limits">
        <Table
          label={systemTexts.limits}
          columns={limitColumns}
          rows={rows}
          keyOf={([name]) => name}
          empty={{
            icon: "search",
            title: commonTexts.noResultsFor(text),
            text: systemTexts.limitsHint,
          }}
        />
      </div>
    </Panel>
  );
}
