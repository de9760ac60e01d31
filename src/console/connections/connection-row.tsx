import { Switch } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { ItemLink } from "../components/name.tsx";
import type { Connection } from "../data/model.ts";
import { reloadIfChanged } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { conflictTexts } from "../texts/conflicts.ts";
import { sourceTexts } from "../texts/sources.ts";
import { tailTexts } from "../texts/tail.ts";

/**
 * Row for one connection. It has a link to the connected item, a link to the connection's events, an
 * on/off switch and a button to disconnect.
 */
export function ConnectionRow(props: {
  connection: Connection;
  /** The connected source or destination. */
  item: { screen: "sources" | "destinations"; id: string };
  name: string;
  reload: () => Promise<void>;
}) {
  const { connection, item, name, reload } = props;
  const { sourceId, destinationId } = connection;
  const params = { id: connection.id };

  /** Sends a change of the connection that the row shows. Others may have changed it meanwhile. */
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
        needs="workspace:admin"
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
