import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel } from "../components/layout.tsx";
import { Table } from "../components/table.tsx";
import { showToast } from "../components/toasts.ts";
import { listAllDestinations } from "../data/list-all.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import type { CodeContext } from "./code-kind.ts";

/** The destinations whose events the transformation changes. */
export function Links({ newest, published, reload }: CodeContext) {
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
              cell: ({ id: to_, name }) => <a href={hrefTo("destinations", to_)}>{name}</a>,
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
                  compact
                  kind="plain"
                  needs={missingPermission("destinations:connect") ?? "transformations:connect"}
                  onClick={() => disconnect(it.id)}
                >
                  Disconnect
                </Button>
              ),
            },
          ]}
          empty={
            <EmptyState icon="destination" title="No destination uses it yet">
              A destination sends what the transformation makes of its events.
            </EmptyState>
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
  const isAdmin = missingPermission("workspace:admin") === undefined;
  const { value, error } = useResource(
    () => (isAdmin ? listAllDestinations() : Promise.resolve([])),
    [id],
  );
  const [chosen, setChosen] = useState("");
  if (!isAdmin) return <p class="quiet">To choose one takes the permission workspace:admin.</p>;
  const options = (value ?? []).filter((it) => !linked.includes(it.id));

  async function connect() {
    const key = "POST /transformations/{id}/connectToDestination";
    await client.call(key, { params: { id }, body: { destinationId: chosen } });
    showToast("Connected: the destination's next events go through this code");
    setChosen("");
    await reload();
  }

  return (
    <div class="form">
      <ErrorNotice error={error} />
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
          needs={missingPermission("destinations:connect") ?? "transformations:connect"}
          disabledReason={unless ?? (chosen === "" ? "Choose a destination first" : undefined)}
          onClick={connect}
        >
          Connect
        </Button>
      </div>
    </div>
  );
}
