import { useState } from "preact/hooks";
import { Button, LinkButton, Switch } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Icon } from "../components/icon.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { EmptyState, SkeletonLine } from "../components/layout.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { Pagination } from "../components/table.tsx";
import type { Connection } from "../data/model.ts";
import { reloadIfChanged } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { type NameSearch, useNameSearch } from "../data/use-name-search.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { conflictTexts } from "../texts/conflicts.ts";
import { sourceTexts } from "../texts/sources.ts";
import { tailTexts } from "../texts/tail.ts";

/**
 * Field names and texts for the connections of a source, and for those of a destination. `ownKey`
 * is the connection's field with the id of this source or destination, and `otherKey` the field
 * with the id of the other end.
 */
const sides = {
  source: {
    ownKey: "sourceId",
    otherKey: "destinationId",
    other: "destination",
    emptyTitle: commonTexts.noDestinationsConnected,
    emptyText: sourceTexts.noDestinationsHint,
    label: sourceTexts.connectTo,
  },
  destination: {
    ownKey: "destinationId",
    otherKey: "sourceId",
    other: "source",
    emptyTitle: sourceTexts.noSourcesConnected,
    emptyText: sourceTexts.noSourcesHint,
    label: sourceTexts.connectSource,
  },
} as const;

/** List of the connections of one source or destination, with a form to add a connection. */
export function ConnectionList({ of, id }: { of: keyof typeof sides; id: string }) {
  const { ownKey, otherKey, other, emptyTitle, emptyText, label } = sides[of];
  const screen = `${other}s` as const;
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
              <LinkButton needs="workspace:admin" href={hrefTo(screen, "new")}>
                {commonTexts.newItem(other)}
              </LinkButton>
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
      <Pagination page={page} total={paging.total} onChange={setPage} />
      <ConnectForm
        label={label}
        names={names}
        connected={new Set(connections.map((it) => it[otherKey]))}
        total={paging.total}
        connect={async (otherId) => {
          const [sourceId, destinationId] = of === "source" ? [id, otherId] : [otherId, id];
          await client.call("POST /v2/connections", { body: { sourceId, destinationId } });
          await reload();
        }}
      />
    </>
  );
}

/**
 * Row for one connection, with links to the connected item and to the connection's events, an
 * on/off switch and a button to disconnect.
 */
function ConnectionRow(props: {
  connection: Connection;
  /** The source or destination at the other end of the connection. */
  item: { screen: "sources" | "destinations"; id: string };
  name: string;
  reload: () => Promise<void>;
}) {
  const { connection, item, name, reload } = props;
  const { sourceId, destinationId } = connection;
  const params = { id: connection.id };

  /**
   * Calls `send` to change the connection, then loads the list again. If another user has changed
   * the connection since the list was loaded, loads the list again and throws, without calling
   * `send`.
   */
  async function change(send: (ifMatch: string | undefined) => Promise<unknown>): Promise<void> {
    const { answer, tag } = await client.callTagged("GET /v2/connections/{id}", { params });
    const isShown = answer.connection.updatedAt === connection.updatedAt;
    if (isShown) await reloadIfChanged(send(tag), reload);
    await reload();
    if (!isShown) throw new Error(conflictTexts.reviewAgain);
  }

  const eventsLabel = tailTexts.showEvents(name);
  return (
    <li class="entry">
      <ItemLink cut {...item} name={name} />
      {missingPermission("events:read") === undefined && (
        <a
          class="button plain round"
          href={hrefTo("events", { sourceId, destinationId })}
          aria-label={eventsLabel}
          data-tip={eventsLabel}
        >
          <Icon name="tail" />
        </a>
      )}
      <Switch
        on={connection.enabled}
        onChange={(enabled) =>
          change((ifMatch) =>
            client.call("PUT /v2/connections/{id}", { params, body: { enabled }, ifMatch }),
          )
        }
      >
        <span class="unseen">{sourceTexts.connectionWith(name)}</span>
      </Switch>
      <DeleteButton
        isIcon
        verb="disconnect"
        noun=""
        name={name}
        consequence={sourceTexts.disconnectConsequence}
        remove={() =>
          change((ifMatch) => client.call("DELETE /v2/connections/{id}", { params, ifMatch }))
        }
      />
    </li>
  );
}

/**
 * Form that connects the page's source to a destination, or the page's destination to a source.
 * Hidden if nothing is left to connect.
 */
function ConnectForm(props: {
  label: string;
  /**
   * Search for the items to connect: destinations on the page of a source, and sources on the page
   * of a destination.
   */
  names: NameSearch;
  /** Ids of the connected sources or destinations that the current page of the list shows. */
  connected: ReadonlySet<string>;
  /** Number of connected sources or destinations on all pages of the list. */
  total: number;
  /** Connects the page's item to the source or destination that the user selected. */
  connect: (id: string) => Promise<void>;
}) {
  const { label, names, connected, total, connect } = props;
  const [selected, setSelected] = useState("");
  const areAllKnown = connected.size >= total;
  const first = areAllKnown ? names.found?.find(({ id }) => !connected.has(id)) : undefined;
  const id = selected === "" || connected.has(selected) ? first?.id : selected;
  if (names.error === undefined && (names.all ?? 0) <= total) return null;
  return (
    <div class="connect">
      <SearchedNameField
        label={label}
        value={id ?? ""}
        {...(!areAllKnown && { none: commonTexts.selectOne })}
        names={names}
        without={connected}
        onChange={setSelected}
      />
      <Button
        icon="link"
        needs="workspace:admin"
        disabledReason={id === undefined ? commonTexts.selectOne : undefined}
        onClick={() => connect(id!)}
      >
        {commonTexts.connect}
      </Button>
    </div>
  );
}
