import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, FigureList, Head, Panel, Skeleton } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { client, lacking } from "../session.ts";
import { bytes, count, span } from "../text.ts";
import { Nodes } from "./nodes.tsx";

type System = AnswerOf<"GET /v2/system">;
type Process = System["processes"][number];

const ASKED_EVERY_MS = 5_000;

/** The whole server: what it runs, what it takes, what it allows. */
export function Screen() {
  const permission = lacking("workspace:admin");
  const { value, error, reload } = useLoaded(
    async () => (permission === undefined ? await client.call("GET /v2/system") : undefined),
    [],
    ASKED_EVERY_MS,
  );
  if (permission !== undefined) {
    return (
      <>
        <Head title="System" />
        <Empty icon="info" title={`This takes the permission ${permission}`}>
          The token that you signed in with lacks it.
        </Empty>
      </>
    );
  }
  return (
    <>
      <Head title="System" beside={value && <Ready readiness={value.readiness} />} />
      <Fault error={error} retry={reload} />
      {value ? <Shown system={value} /> : error === undefined && <Skeleton />}
    </>
  );
}

function Shown({ system }: { system: System }) {
  const { readiness, disk, events, processes, limits } = system;
  return (
    <>
      <Figures system={system} />
      <div class="columns even">
        <Panel title="Checks">
          <Checks readiness={readiness} />
        </Panel>
        <Panel title="Disk">
          <Disk disk={disk} />
        </Panel>
        <Panel title="Events">
          <Events events={events} />
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
  { title: "Memory", kind: "number", cell: ({ residentBytes }) => bytes(residentBytes) },
  { title: "CPU time", kind: "number", cell: ({ cpuSeconds }) => span(cpuSeconds) },
];

function Figures({ system }: { system: System }) {
  const figures = [
    ["Version", system.version],
    ["Bun", system.bun],
    ["Up for", span(system.uptimeSeconds)],
    ["Guests", count(system.guests.alive)],
    ["Wait for a guest", count(system.guests.awaited)],
    ["Memory free", bytes(system.memory.freeBytes)],
  ] as const;
  return <FigureList class="six" figures={figures} />;
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
            <span class="tabular">{bytes(size)}</span>
          </dd>
        </>
      ))}
      <dt>Free</dt>
      <dd class="tabular">{bytes(freeBytes)}</dd>
    </dl>
  );
}

function Events({ events: { bytes: held, oldestAt, retention } }: { events: System["events"] }) {
  const bounds = [
    ...(retention.seconds > 0 ? [span(retention.seconds)] : []),
    ...(retention.bytes > 0 ? [bytes(retention.bytes)] : []),
  ];
  return (
    <dl class="facts">
      <dt>Held</dt>
      <dd class="tabular">{bytes(held)}</dd>
      <dt>Oldest</dt>
      <dd>{oldestAt === undefined ? "None" : <Time at={oldestAt} />}</dd>
      <dt>Kept after delivery</dt>
      <dd>{bounds.length === 0 ? "No" : `Up to ${bounds.join(" and ")}`}</dd>
    </dl>
  );
}

const limitColumns: Column<[string, number]>[] = [
  { title: "Limit", kind: "name", cell: ([name]) => <code>{name}</code> },
  { title: "Value", kind: "number", cell: ([, value]) => count(value) },
];

function Limits({ limits }: { limits: System["limits"] }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toUpperCase().replaceAll(" ", "_");
  const rows = Object.entries(limits).filter(([name]) => name.includes(wanted));
  return (
    <Panel
      title="Limits"
      flush
      actions={<Search label="Find a limit" value={text} onInput={setText} />}
    >
      <div class="limits">
        <Table
          label="Limits"
          columns={limitColumns}
          rows={rows}
          keyOf={([name]) => name}
          empty={
            <Empty icon="search" title={`No limit has “${text}” in its name`}>
              The README says what each means.
            </Empty>
          }
        />
      </div>
    </Panel>
  );
}
