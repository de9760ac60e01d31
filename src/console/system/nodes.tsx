import type { AnswerOf } from "../../api/client.ts";
import { Icon } from "../components/icon.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { type Column, Table } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";

type Cluster = AnswerOf<"GET /v2/cluster">;

interface NodeRow {
  id: string;
  isCurrent: boolean;
  answers: boolean;
  version: string;
  url: string;
  partitions: string;
  lagEvents: number;
}

const POLL_MS = 5_000;

/** Table of the cluster's nodes with their partitions. Nothing is shown for a standalone server. */
export function Nodes() {
  const { value } = useResource(() => client.call("GET /v2/cluster"), [], POLL_MS);
  if (value === undefined || value.nodes.length === 0) return null;
  return (
    <Panel title="Nodes" flush>
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
        label="Nodes"
        columns={columns}
        rows={rowsOf(value)}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Panel>
  );
}

function rowsOf({ node, nodes, partitions }: Cluster): NodeRow[] {
  return nodes.map(({ id, version, controlPlaneUrl, answers }) => {
    const owned = partitions.filter((it) => it.node === id);
    return {
      id,
      version,
      answers,
      isCurrent: id === node,
      url: controlPlaneUrl,
      partitions: owned.map(({ partition }) => partition).join(", ") || "None",
      lagEvents: owned.reduce((sum, { lagEvents = 0 }) => sum + lagEvents, 0),
    };
  });
}

const columns: Column<NodeRow>[] = [
  {
    title: "Node",
    kind: "name",
    cell: ({ id, isCurrent, answers }) => (
      <>
        {id} {isCurrent && <Badge tone="good">This node</Badge>}
        {!answers && <Badge tone="bad">No answer</Badge>}
      </>
    ),
  },
  { title: "Version", cell: ({ version }) => version },
  { title: "Control plane", cell: ({ url }) => <code>{url}</code> },
  { title: "Partitions", cell: ({ partitions }) => partitions },
  { title: "Lag", kind: "number", cell: ({ lagEvents }) => formatCount(lagEvents) },
];
