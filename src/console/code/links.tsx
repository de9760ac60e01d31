import { useState } from "preact/hooks";
import { everyDestination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { SelectField } from "../parts/field.tsx";
import { Badge, Empty, Panel } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { Table } from "../parts/table.tsx";
import { to } from "../router.ts";
import { client, lacking } from "../session.ts";
import type { Opened } from "./kinds.ts";

/** The destinations whose events the transformation changes. */
export function Links({ newest, published, reload }: Opened) {
  const { id } = newest;
  const linked = published?.destinations ?? [];
  const disconnect = async (destinationId: string) => {
    const key = "POST /transformations/{id}/disconnectFromDestination";
    await client.call(key, { params: { id }, body: { destinationId } });
    await reload();
  };
  const unless = published ? undefined : "Publish it first: drafts are connected to nothing";
  return (
    <>
      <Panel title="Connect">
        <Connect id={id} linked={linked.map((it) => it.id)} unless={unless} reload={reload} />
      </Panel>
      <Panel title="Connected destinations" flush>
        <Table
          label="Connected destinations"
          rows={linked}
          keyOf={(it) => it.id}
          columns={[
            {
              title: "Name",
              kind: "name",
              cell: ({ id: to_, name }) => <a href={to("destinations", to_)}>{name}</a>,
            },
            {
              title: "State",
              kind: "narrow",
              cell: ({ enabled }) =>
                enabled ? <Badge tone="good">On</Badge> : <Badge tone="warn">Paused</Badge>,
            },
            {
              title: "",
              kind: "narrow",
              cell: (it) => (
                <Button
                  tight
                  kind="plain"
                  needs={lacking("destinations:connect") ?? "transformations:connect"}
                  onClick={() => disconnect(it.id)}
                >
                  Disconnect
                </Button>
              ),
            },
          ]}
          empty={
            <Empty icon="destination" title="No destination uses it yet">
              A destination sends what the transformation makes of its events.
            </Empty>
          }
        />
      </Panel>
    </>
  );
}

function Connect(props: {
  id: string;
  linked: readonly string[];
  unless: string | undefined;
  reload: () => Promise<void>;
}) {
  const { id, linked, unless, reload } = props;
  const isAdmin = lacking("workspace:admin") === undefined;
  const { value, error } = useLoaded(
    () => (isAdmin ? everyDestination() : Promise.resolve([])),
    [id],
  );
  const [chosen, setChosen] = useState("");
  if (!isAdmin) return <p class="quiet">To choose one takes the permission workspace:admin.</p>;
  const options = (value ?? []).filter((it) => !linked.includes(it.id));

  async function connect() {
    const key = "POST /transformations/{id}/connectToDestination";
    await client.call(key, { params: { id }, body: { destinationId: chosen } });
    tell("Connected: the destination's next events go through this code");
    setChosen("");
    await reload();
  }

  return (
    <div class="form">
      <Fault error={error} />
      <SelectField
        label="Destination"
        value={chosen}
        onChange={setChosen}
        hint="It leaves the transformation that it has now"
        options={[
          { value: "", text: "Choose one" },
          ...options.map((it) => ({ value: it.id, text: it.name })),
        ]}
      />
      <div class="ends">
        <Button
          icon="link"
          needs={lacking("destinations:connect") ?? "transformations:connect"}
          unless={unless ?? (chosen === "" ? "Choose a destination first" : undefined)}
          onClick={connect}
        >
          Connect
        </Button>
      </div>
    </div>
  );
}
