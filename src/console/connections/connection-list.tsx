import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, SkeletonLine } from "../components/layout.tsx";
import { listAllConnections, listAllDestinations, listAllSources } from "../data/list-all.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { sourceTexts } from "../texts/sources.ts";
import { ConnectForm } from "./connect-form.tsx";
import { ConnectionRow } from "./connection-row.tsx";

/**
 * Texts, keys and requests for the two forms of the list: connections of a source, and connections
 * of a destination.
 */
const sides = {
  source: {
    ownKey: "sourceId",
    otherKey: "destinationId",
    listOthers: listAllDestinations,
    other: "destination",
    screen: "destinations",
    emptyTitle: commonTexts.noDestinationsConnected,
    emptyText: sourceTexts.noDestinationsHint,
    label: sourceTexts.connectTo,
  },
  destination: {
    ownKey: "destinationId",
    otherKey: "sourceId",
    listOthers: listAllSources,
    other: "source",
    screen: "sources",
    emptyTitle: sourceTexts.noSourcesConnected,
    emptyText: sourceTexts.noSourcesHint,
    label: sourceTexts.connectSource,
  },
} as const;

/** List of the connections of one source or destination, with a form to add a connection. */
export function ConnectionList({ of, id }: { of: keyof typeof sides; id: string }) {
  const { ownKey, otherKey, listOthers, other, screen, emptyTitle, emptyText, label } = sides[of];
  const { value, error, reload } = useResource(
    async () => ({ connections: await listAllConnections(), others: await listOthers() }),
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
  const connections = value.connections.filter((it) => it[ownKey] === id);
  const connected = new Set(connections.map((it) => it[otherKey]));
  const nameOf = (otherId: string) => value.others.find((it) => it.id === otherId)?.name ?? otherId;
  return (
    <>
      {connections.length === 0 && (
        <EmptyState
          icon={other}
          title={emptyTitle}
          action={
            value.others.length === 0 && (
              <a class="button" href={hrefTo(screen, "new")}>
                {commonTexts.newItem(other)}
              </a>
            )
          }
        >
          {emptyText}
        </EmptyState>
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            href={hrefTo(screen, connection[otherKey])}
            name={nameOf(connection[otherKey])}
            reload={reload}
          />
        ))}
      </ul>
      <ConnectForm
        label={label}
        unconnected={value.others.filter((it) => !connected.has(it.id))}
        endsFor={(otherId) =>
          of === "source"
            ? { sourceId: id, destinationId: otherId }
            : { sourceId: otherId, destinationId: id }
        }
        reload={reload}
      />
    </>
  );
}
