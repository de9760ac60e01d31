import { Switch } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import type { Connection } from "../data/model.ts";
import { client } from "../data/session.ts";

/**
 * Row for one connection. It has a link to the connected item, an on/off switch and a button to
 * disconnect.
 */
export function ConnectionRow(props: {
  connection: Connection;
  href: string;
  name: string;
  reload: () => Promise<void>;
}) {
  const { connection, href, name, reload } = props;
  const params = { id: connection.id };
  return (
    <li class="entry">
      <a class="cut" href={href}>
        {name}
      </a>
      <Switch
        on={connection.enabled}
        needs="workspace:admin"
        onChange={async (enabled) => {
          await client.call("PUT /v2/connections/{id}", { params, body: { enabled } });
          await reload();
        }}
      >
        <span class="unseen">Connection with {name}</span>
      </Switch>
      <DeleteButton
        isIcon
        verb="Disconnect"
        noun=""
        name={name}
        consequence="New events no longer use this connection. Pending ones are still delivered."
        remove={async () => {
          await client.call("DELETE /v2/connections/{id}", { params });
          await reload();
        }}
      />
    </li>
  );
}
