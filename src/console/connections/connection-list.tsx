import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, SkeletonLine } from "../components/layout.tsx";
import { listAllConnections, listAllDestinations, listAllSources } from "../data/list-all.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { ConnectForm } from "./connect-form.tsx";
import { ConnectionRow } from "./connection-row.tsx";

/** How the connections of a source are shown, and those of a destination: by their other ends. */
const viewpoints = {
  source: {
    others: listAllDestinations,
    other: "destination",
    screen: "destinations",
    nothing: "It goes nowhere yet",
    hint: "Events are kept from the moment of a connection on: connect it to a destination.",
    label: "Connect to",
  },
  destination: {
    others: listAllSources,
    other: "source",
    screen: "sources",
    nothing: "It takes nothing yet",
    hint: "Connect a source: its events come here from that moment on.",
    label: "Connect a source",
  },
} as const;

interface ConnectionEnds {
  sourceId: string;
  destinationId: string;
}

/** What a source or a destination is connected to, and what it could be connected to. */
export function ConnectionList({ of, id }: { of: keyof typeof viewpoints; id: string }) {
  const { others, other, screen, nothing, hint, label } = viewpoints[of];
  const { value, error, reload } = useResource(
    async () => ({ connections: await listAllConnections(), others: await others() }),
    [of, id],
  );
  if (error !== undefined) return <ErrorNotice error={error} retry={reload} />;
  if (value === undefined) {
    return (
      <div class="inside">
        <SkeletonLine />
      </div>
    );
  }
  const ownEnd = ({ sourceId, destinationId }: ConnectionEnds) =>
    of === "source" ? sourceId : destinationId;
  const otherEnd = ({ sourceId, destinationId }: ConnectionEnds) =>
    of === "source" ? destinationId : sourceId;
  const connections = value.connections.filter((it) => ownEnd(it) === id);
  const taken = new Set(connections.map(otherEnd));
  const nameOf = (otherId: string) => value.others.find((it) => it.id === otherId)?.name ?? otherId;
  return (
    <>
      {connections.length === 0 && (
        <EmptyState
          icon={other}
          title={nothing}
          action={
            value.others.length === 0 && (
              <a class="button" href={hrefTo(screen, "new")}>
                New {other}
              </a>
            )
          }
        >
          {hint}
        </EmptyState>
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            href={hrefTo(screen, otherEnd(connection))}
            name={nameOf(otherEnd(connection))}
            changed={reload}
          />
        ))}
      </ul>
      <ConnectForm
        label={label}
        free={value.others.filter((it) => !taken.has(it.id))}
        ends={(otherId) =>
          of === "source"
            ? { sourceId: id, destinationId: otherId }
            : { sourceId: otherId, destinationId: id }
        }
        changed={reload}
      />
    </>
  );
}
