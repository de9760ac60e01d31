import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
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
import { Nodes } from "./nodes.tsx";

type System = AnswerOf<"GET /v2/system">;
type Process = System["processes"][number];

const POLL_MS = 5_000;

/** Screen with the state, resource use and limits of the server. */
export function Screen() {
  const resource = useResource(() => client.call("GET /v2/system"), [], POLL_MS);
  const { value } = resource;
  return (
    <>
      <ScreenHeader
        title={commonTexts.system}
        status={value && <Ready readiness={value.readiness} />}
      />
      <Loaded resource={resource}>{(system) => <SystemPanels system={system} />}</Loaded>
    </>
  );
}

function SystemPanels({ system }: { system: System }) {
  const { readiness, disk, events, processes, limits } = system;
  return (
    <>
      <SystemStats system={system} />
      <div class="columns even">
        <Panel title={systemTexts.checks}>
          <Checks readiness={readiness} />
        </Panel>
        <Panel title={systemTexts.disk}>
          <Disk disk={disk} />
        </Panel>
        <Panel title={commonTexts.events}>
          <StoredEvents events={events} />
        </Panel>
      </div>
      <Nodes />
      <Panel title={systemTexts.processes} flush>
        <Table
          label={systemTexts.processes}
          columns={processColumns}
          rows={processes}
          keyOf={({ name }) => name}
        />
      </Panel>
      <Limits limits={limits} />
    </>
  );
}

function Ready({ readiness: { ready } }: { readiness: System["readiness"] }) {
  return ready ? (
    <Badge tone="good">{systemTexts.ready}</Badge>
  ) : (
    <Badge tone="bad">{systemTexts.notReady}</Badge>
  );
}

const processColumns: Column<Process>[] = [
  column.name(systemTexts.process, ({ name: process }) => process),
  column.wideNumber(systemTexts.memory, ({ residentBytes }) => formatBytes(residentBytes)),
  column.wideNumber(systemTexts.cpuTime, ({ cpuSeconds }) => formatDuration(cpuSeconds)),
];

function SystemStats({ system }: { system: System }) {
  const figures = [
    [systemTexts.version, system.version],
    [systemTexts.bun, system.bun],
    [systemTexts.uptime, formatDuration(system.uptimeSeconds)],
    [systemTexts.sandboxes, countOrNone(system.guests.alive)],
    [systemTexts.sandboxQueue, countOrNone(system.guests.awaited)],
    [systemTexts.memoryFree, formatBytes(system.memory.freeBytes)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

/**
 * Formats a count, or returns a dash for undefined: a server with several workspaces does not
 * report figures that concern all of them.
 */
const countOrNone = (count: number | undefined) => (count === undefined ? "–" : formatCount(count));

function Checks({ readiness: { checks, warnings } }: { readiness: System["readiness"] }) {
  return (
    <>
      <FactList
        facts={Object.entries(checks).map(([name, { ok, message }]) => [
          name,
          <>
            <Badge tone={ok ? "good" : "bad"}>{ok ? systemTexts.ok : commonTexts.failing}</Badge>
            {message}
          </>,
        ])}
      />
      {warnings.map((warning) => (
        <p class="notice warn" key={warning}>
          {warning}
        </p>
      ))}
    </>
  );
}

function Disk({ disk: { used, freeBytes } }: { disk: System["disk"] }) {
  const sizes = Object.entries(used).sort(([, one], [, other]) => other - one);
  const largest = Math.max(1, ...sizes.map(([, size]) => size));
  return (
    <FactList
      facts={[
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
      ]}
    />
  );
}

function StoredEvents({ events }: { events: System["events"] }) {
  const { bytes, oldestAt, retention } = events;
  const bounds = [
    ...(retention.seconds > 0 ? [formatDuration(retention.seconds)] : []),
    ...(retention.bytes > 0 ? [formatBytes(retention.bytes)] : []),
  ];
  return (
    <FactList
      facts={[
        bytes !== undefined && [
          systemTexts.stored,
          <span class="tabular">{formatBytes(bytes)}</span>,
        ],
        bytes !== undefined && [
          systemTexts.oldest,
          oldestAt === undefined ? commonTexts.none : <Time at={oldestAt} />,
        ],
        [systemTexts.retainedAfterDelivery, systemTexts.retention(bounds)],
      ]}
    />
  );
}

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
