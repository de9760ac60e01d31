import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import {
  Badge,
  EmptyState,
  FactList,
  Panel,
  ScreenHeader,
  StatList,
} from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { SearchField } from "../components/search-field.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatBytes, formatCount, formatDuration } from "../format.ts";
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
      <ScreenHeader title="System" status={value && <Ready readiness={value.readiness} />} />
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
        <Panel title="Checks">
          <Checks readiness={readiness} />
        </Panel>
        <Panel title="Disk">
          <Disk disk={disk} />
        </Panel>
        <Panel title="Events">
          <StoredEvents events={events} />
        </Panel>
      </div>
      <Nodes />
      <Panel title="Processes" flush>
        <Table
          label="Processes"
          columns={processColumns}
          rows={processes}
          keyOf={({ name }) => name}
          empty={null}
        />
      </Panel>
      <Limits limits={limits} />
    </>
  );
}

function Ready({ readiness: { ready } }: { readiness: System["readiness"] }) {
  return ready ? <Badge tone="good">Ready</Badge> : <Badge tone="bad">Not ready</Badge>;
}

const processColumns: Column<Process>[] = [
  { title: "Process", kind: "name", cell: ({ name }) => name },
  { title: "Memory", kind: "number", cell: ({ residentBytes }) => formatBytes(residentBytes) },
  { title: "CPU time", kind: "number", cell: ({ cpuSeconds }) => formatDuration(cpuSeconds) },
];

function SystemStats({ system }: { system: System }) {
  const figures = [
    ["Version", system.version],
    ["Bun", system.bun],
    ["Uptime", formatDuration(system.uptimeSeconds)],
    ["Sandboxes", countOrNone(system.guests.alive)],
    ["Sandbox queue", countOrNone(system.guests.awaited)],
    ["Memory free", formatBytes(system.memory.freeBytes)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

/**
 * Formats a count, or returns a dash when there is none. A server with several workspaces does not
 * report figures about all workspaces.
 */
const countOrNone = (count: number | undefined) => (count === undefined ? "–" : formatCount(count));

function Checks({ readiness: { checks, warnings } }: { readiness: System["readiness"] }) {
  return (
    <>
      <FactList
        facts={Object.entries(checks).map(([name, { ok, message }]) => [
          name,
          <>
            <Badge tone={ok ? "good" : "bad"}>{ok ? "OK" : "Failing"}</Badge>
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
          ([name, size]) =>
            [
              name,
              <>
                <span class="meter">
                  <i style={{ width: `${Math.max(1, (size / largest) * 100)}%` }} />
                </span>
                <span class="tabular">{formatBytes(size)}</span>
              </>,
            ] as const,
        ),
        ["Free", <span class="tabular">{formatBytes(freeBytes)}</span>],
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
        ...(bytes === undefined ? [] : stored(bytes, oldestAt)),
        ["Retained after delivery", bounds.length === 0 ? "No" : `Up to ${bounds.join(" and ")}`],
      ]}
    />
  );
}

function stored(bytes: number, oldestAt: string | undefined) {
  return [
    ["Stored", <span class="tabular">{formatBytes(bytes)}</span>],
    ["Oldest", oldestAt === undefined ? "None" : <Time at={oldestAt} />],
  ] as const;
}

const limitColumns: Column<[string, number]>[] = [
  { title: "Limit", kind: "name", cell: ([name]) => <code>{name}</code> },
  { title: "Value", kind: "number", cell: ([, value]) => formatCount(value) },
];

function Limits({ limits }: { limits: System["limits"] }) {
  const [text, setText] = useState("");
  const upperCase = text.trim().toUpperCase().replaceAll(" ", "_");
  const rows = Object.entries(limits).filter(([name]) => name.includes(upperCase));
  return (
    <Panel
      title="Limits"
      flush
      actions={<SearchField label="Search limits" value={text} onInput={setText} />}
    >
      <div class="limits">
        <Table
          label="Limits"
          columns={limitColumns}
          rows={rows}
          keyOf={([name]) => name}
          empty={
            <EmptyState icon="search" title={`No results for “${text}”`}>
              The documentation explains each limit.
            </EmptyState>
          }
        />
      </div>
    </Panel>
  );
}
