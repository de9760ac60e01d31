import { Switch } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import type { Connection } from "../data/list-all.ts";
import { client } from "../data/session.ts";

/** A connection as one of its ends shows it: the other end, on or off, away with it. */
export function ConnectionRow(props: {
  connection: Connection;
  href: string;
  name: string;
  changed: () => Promise<void>;
}) {
  const { connection, href, name, changed } = props;
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
          await changed();
        }}
      >
        <span class="unseen">Events go to or come from {name}</span>
      </Switch>
      <ConfirmButton
        kind="plain"
        compact
        icon="bin"
        label={`Disconnect ${name}`}
        needs="workspace:admin"
        title={`Disconnect ${name}?`}
        text="New events no longer take this way. Those that are on it still arrive."
        action="Disconnect"
        onConfirm={async () => {
          await client.call("DELETE /v2/connections/{id}", { params });
          await changed();
        }}
      />
    </li>
  );
}
