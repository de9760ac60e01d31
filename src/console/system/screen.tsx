import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import {
  Badge,
  EmptyState,
  Panel,
  ScreenHeader,
  Skeleton,
  StatList,
} from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Table, type TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatBytes, formatCount, formatDuration } from "../format.ts";
import { Nodes } from "./nodes.tsx";

type System = AnswerOf<"GET /v2/system">;
type Process = System["processes"][number];

const ASKED_EVERY_MS = 5_000;

/** The whole server: what it runs, what it takes, what it allows. */
export function Screen() {
  const permission = missingPermission("workspace:admin");
  const { value, error, reload } = useResource(
    async () => (permission === undefined ? await client.call("GET /v2/system") : undefined),
    [],
    ASKED_EVERY_MS,
  );
  if (permission !== undefined) {
    return (
      <>
        <ScreenHeader title="System" />
        <EmptyState icon="info" title={`This takes the permission ${permission}`}>
          The token that you signed in with lacks it.
        </EmptyState>
      </>
    );
  }
  return (
    <>
      <ScreenHeader title="System" beside={value && <Ready readiness={value.readiness} />} />
      <ErrorNotice error={error} retry={reload} />
      {value ? <SystemPanels system={value} /> : error === undefined && <Skeleton />}
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

const processColumns: TableColumn<Process>[] = [
  { title: "Process", kind: "name", cell: ({ name }) => name },
  { title: "Memory", kind: "number", cell: ({ residentBytes }) => formatBytes(residentBytes) },
  { title: "CPU time", kind: "number", cell: ({ cpuSeconds }) => formatDuration(cpuSeconds) },
];

function SystemStats({ system }: { system: System }) {
  const figures = [
    ["Version", system.version],
    ["Bun", system.bun],
    ["Up for", formatDuration(system.uptimeSeconds)],
    ["Guests", formatCount(system.guests.alive)],
    ["Wait for a guest", formatCount(system.guests.awaited)],
    ["Memory free", formatBytes(system.memory.freeBytes)],
  ] as const;
  return <StatList class="six" figures={figures} />;
}

function Checks({ readiness: { checks, warnings } }: { readiness: System["readiness"] }) {
  return (
    <>
      <dl class="facts">
        {Object.entries(checks).map(([name, { ok, message }]) => (
          <>
            <dt key={`${name} name`}>{name}</dt>
            <dd key={name}>
              <Badge tone={ok ? "good" : "bad"}>{ok ? "Works" : "Does not work"}</Badge>
              {message}
            </dd>
          </>
        ))}
      </dl>
      {warnings.map((warning) => (
        <p class="notice warn" key={warning}>
          {warning}
        </p>
      ))}
    </>
  );
}

function Disk({ disk: { used, freeBytes } }: { disk: System["disk"] }) {
  const parts = Object.entries(used).sort(([, one], [, other]) => other - one);
  const most = Math.max(1, ...parts.map(([, size]) => size));
  return (
    <dl class="facts">
      {parts.map(([name, size]) => (
        <>
          <dt key={`${name} name`}>{name}</dt>
          <dd key={name}>
            <span class="meter">
              <i style={{ width: `${Math.max(1, (size / most) * 100)}%` }} />
            </span>
            <span class="tabular">{formatBytes(size)}</span>
          </dd>
        </>
      ))}
      <dt>Free</dt>
      <dd class="tabular">{formatBytes(freeBytes)}</dd>
    </dl>
  );
}

function StoredEvents({
  events: { bytes: held, oldestAt, retention },
}: {
  events: System["events"];
}) {
  const bounds = [
    ...(retention.seconds > 0 ? [formatDuration(retention.seconds)] : []),
    ...(retention.bytes > 0 ? [formatBytes(retention.bytes)] : []),
  ];
  return (
    <dl class="facts">
      <dt>Held</dt>
      <dd class="tabular">{formatBytes(held)}</dd>
      <dt>Oldest</dt>
      <dd>{oldestAt === undefined ? "None" : <Time at={oldestAt} />}</dd>
      <dt>Kept after delivery</dt>
      <dd>{bounds.length === 0 ? "No" : `Up to ${bounds.join(" and ")}`}</dd>
    </dl>
  );
}

const limitColumns: TableColumn<[string, number]>[] = [
  { title: "Limit", kind: "name", cell: ([name]) => <code>{name}</code> },
  { title: "Value", kind: "number", cell: ([, value]) => formatCount(value) },
];

function Limits({ limits }: { limits: System["limits"] }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toUpperCase().replaceAll(" ", "_");
  const rows = Object.entries(limits).filter(([name]) => name.includes(wanted));
  return (
    <Panel
      title="Limits"
      flush
      actions={<SearchField label="Find a limit" value={text} onInput={setText} />}
    >
      <div class="limits">
        <Table
          label="Limits"
          columns={limitColumns}
          rows={rows}
          keyOf={([name]) => name}
          empty={
            <EmptyState icon="search" title={`No limit has “${text}” in its name`}>
              The README says what each means.
            </EmptyState>
          }
        />
      </div>
    </Panel>
  );
}
