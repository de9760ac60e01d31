import type { AnswerOf } from "../../api/client.ts";
import { Icon } from "../components/icon.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { systemTexts } from "../texts/system.ts";

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

/** Table of the cluster's nodes and their partitions. A server without a cluster shows nothing. */
export function Nodes() {
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
        columns={columns}
        rows={rowsOf(value)}
        keyOf={({ id }) => id}
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
      partitions: owned.map(({ partition }) => partition).join(", ") || commonTexts.none,
      lagEvents: owned.reduce((sum, { lagEvents = 0 }) => sum + lagEvents, 0),
    };
  });
}

const columns: Column<NodeRow>[] = [
  column.name(systemTexts.node, ({ id, isCurrent, answers }) => (
    <>
      {id} {isCurrent && <Badge tone="good">{systemTexts.thisNode}</Badge>}
      {!answers && <Badge tone="bad">{systemTexts.noAnswer}</Badge>}
    </>
  )),
  column.plain(systemTexts.version, ({ version }) => version),
  column.plain(systemTexts.controlPlane, ({ url }) => <code>{url}</code>),
  column.plain(systemTexts.partitions, ({ partitions }) => partitions),
  column.wideNumber(systemTexts.lag, ({ lagEvents }) => formatCount(lagEvents)),
];
