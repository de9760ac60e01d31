import type { AnswerOf } from "../../api/client.ts";
import { Icon } from "../components/icon.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { Table, type TableColumn } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";

type Cluster = AnswerOf<"GET /v2/cluster">;

interface NodeRow {
  id: string;
  isThis: boolean;
  answers: boolean;
  version: string;
  url: string;
  partitions: string;
  lagEvents: number;
}

const ASKED_EVERY_MS = 5_000;

/** The nodes of a cluster, with what each runs; nothing where the server is alone. */
export function Nodes() {
  const { value } = useResource(() => client.call("GET /v2/cluster"), [], ASKED_EVERY_MS);
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
    const run = partitions.filter((it) => it.node === id);
    return {
      ...{ id, version, answers, isThis: id === node, url: controlPlaneUrl },
      partitions: run.map(({ partition }) => partition).join(", ") || "None",
      lagEvents: run.reduce((sum, { lagEvents = 0 }) => sum + lagEvents, 0),
    };
  });
}

const columns: TableColumn<NodeRow>[] = [
  {
    title: "Node",
    kind: "name",
    cell: ({ id, isThis, answers }) => (
      <>
        {id} {isThis && <Badge tone="good">Answers here</Badge>}
        {!answers && <Badge tone="bad">Does not answer</Badge>}
      </>
    ),
  },
  { title: "Version", cell: ({ version }) => version },
  { title: "Control plane", cell: ({ url }) => <code>{url}</code> },
  { title: "Partitions", cell: ({ partitions }) => partitions },
  { title: "Events behind", kind: "number", cell: ({ lagEvents }) => formatCount(lagEvents) },
];
