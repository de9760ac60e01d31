import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { optionsOf, SelectField } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel } from "../components/layout.tsx";
import { Table } from "../components/table.tsx";
import { showToast } from "../components/toasts.ts";
import { listAllDestinations } from "../data/list-all.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import type { CodeContext } from "./code-kind.ts";

/** Lists the destinations that are linked to the transformation, and links or unlinks them. */
export function DestinationLinks({ newest, published, reload }: CodeContext) {
  const { id } = newest;
  const linked = published?.destinations ?? [];
  const disconnect = async (destinationId: string) => {
    const key = "POST /transformations/{id}/disconnectFromDestination";
    await client.call(key, { params: { id }, body: { destinationId } });
    await reload();
  };
  const disabledReason = published ? undefined : "Publish before connecting";
  return (
    <>
      <Panel title="Connect">
        <ConnectDestination
          id={id}
          linked={linked.map((it) => it.id)}
          disabledReason={disabledReason}
          reload={reload}
        />
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
              cell: (it) => <a href={hrefTo("destinations", it.id)}>{it.name}</a>,
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
            <EmptyState icon="destination" title="No destinations connected">
              A connected destination receives the outputs of the transformation.
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}

function ConnectDestination(props: {
  id: string;
  linked: readonly string[];
  disabledReason: string | undefined;
  reload: () => Promise<void>;
}) {
  const { id, linked, disabledReason, reload } = props;
  const isAdmin = missingPermission("workspace:admin") === undefined;
  const { value, error } = useResource(
    () => (isAdmin ? listAllDestinations() : Promise.resolve([])),
    [id],
  );
  const [selected, setSelected] = useState("");
  if (!isAdmin) return <p class="quiet">Connecting a destination requires workspace:admin.</p>;
  const unlinked = (value ?? []).filter((it) => !linked.includes(it.id));

  async function connect() {
    const key = "POST /transformations/{id}/connectToDestination";
    await client.call(key, { params: { id }, body: { destinationId: selected } });
    showToast("Connected: applies from the next batch");
    setSelected("");
    await reload();
  }

  return (
    <div class="form">
      <ErrorNotice error={error} />
      <SelectField
        label="Destination"
        value={selected}
        onChange={setSelected}
        hint="Replaces its current transformation"
        options={[{ value: "", text: "Select one" }, ...optionsOf(unlinked)]}
      />
      <div class="ends">
        <Button
          icon="link"
          needs={missingPermission("destinations:connect") ?? "transformations:connect"}
          disabledReason={
            disabledReason ?? (selected === "" ? "Select a destination first" : undefined)
          }
          onClick={connect}
        >
          Connect
        </Button>
      </div>
    </div>
  );
}
