import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, SkeletonLine } from "../components/layout.tsx";
import { Pagination } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { useNameSearch } from "../data/use-name-search.ts";
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
    other: "destination",
    screen: "destinations",
    emptyTitle: commonTexts.noDestinationsConnected,
    emptyText: sourceTexts.noDestinationsHint,
    label: sourceTexts.connectTo,
  },
  destination: {
    ownKey: "destinationId",
    otherKey: "sourceId",
    other: "source",
    screen: "sources",
    emptyTitle: sourceTexts.noSourcesConnected,
    emptyText: sourceTexts.noSourcesHint,
    label: sourceTexts.connectSource,
  },
} as const;

/** Number of connections on a page of the server's list. */
const PAGE_ITEMS = 100;

/** List of the connections of one source or destination, with a form to add a connection. */
export function ConnectionList({ of, id }: { of: keyof typeof sides; id: string }) {
  const { ownKey, otherKey, other, screen, emptyTitle, emptyText, label } = sides[of];
  const [page, setPage] = useState(1);
  const names = useNameSearch(other);
  const { value, error, reload } = useResource(
    () => client.call("GET /v2/connections", { query: { [ownKey]: id, page } }),
    [of, id, page],
  );
  if (error !== undefined) return <ErrorNotice error={error} retry={reload} />;
  if (value === undefined) {
    return (
      <div class="inside">
        <SkeletonLine />
      </div>
    );
  }
  const { connections, paging } = value;
  return (
    <>
      {paging.total === 0 && (
        <EmptyState
          icon={other}
          title={emptyTitle}
          text={emptyText}
          action={
            names.all === 0 && (
              <a class="button" href={hrefTo(screen, "new")}>
                {commonTexts.newItem(other)}
              </a>
            )
          }
        />
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            item={{ screen, id: connection[otherKey] }}
            name={names.nameOf(connection[otherKey])}
            reload={reload}
          />
        ))}
      </ul>
      <Pagination page={page} pageItems={PAGE_ITEMS} total={paging.total} onChange={setPage} />
      <ConnectForm
        label={label}
        names={names}
        connected={new Set(connections.map((it) => it[otherKey]))}
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
