import { useState } from "preact/hooks";
import type { CodeContext } from "../code-kinds/code-kind.ts";
import { Button } from "../components/button.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { showToast } from "../components/toasts.ts";
import { client, missingPermission } from "../data/session.ts";
import { useNameSearch } from "../data/use-name-search.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";

/** Lists the destinations linked to a transformation, and lets the user link or unlink some. */
export function DestinationLinks({ newest, published, reload }: CodeContext) {
  const { id } = newest;
  const linked = published?.destinations ?? [];
  const disconnect = async (destinationId: string) => {
    const key = "POST /transformations/{id}/disconnectFromDestination";
    await client.call(key, { params: { id }, body: { destinationId } });
    await reload();
  };
  return (
    <>
      <Panel title={commonTexts.connect}>
        {missingPermission("workspace:admin") === undefined ? (
          <ConnectForm
            id={id}
            linked={linked.map((it) => it.id)}
            disabledReason={published ? undefined : codeTexts.publishFirst}
            reload={reload}
          />
        ) : (
          <p class="quiet">{codeTexts.connectRequiresAdmin}</p>
        )}
      </Panel>
      <Panel title={codeTexts.connectedDestinations} flush>
        <Table
          label={codeTexts.connectedDestinations}
          rows={linked}
          keyOf={(it) => it.id}
          columns={
            [
              column.name(commonTexts.name, (it) => (
                <ItemLink screen="destinations" id={it.id} name={it.name} />
              )),
              column.narrow(commonTexts.state, ({ enabled }) => (
                <Badge tone={enabled ? "good" : "warn"}>
                  {enabled ? commonTexts.enabled : commonTexts.paused}
                </Badge>
              )),
              column.narrow("", (it) => (
                <Button
                  compact
                  kind="plain"
                  needs={missingPermission("destinations:connect") ?? "transformations:connect"}
                  onClick={() => disconnect(it.id)}
                >
                  {commonTexts.deletions.disconnect.label}
                </Button>
              )),
            ] satisfies Column<(typeof linked)[number]>[]
          }
          empty={{
            icon: "destination",
            title: commonTexts.noDestinationsConnected,
            text: codeTexts.noDestinationsHint,
          }}
        />
      </Panel>
    </>
  );
}

function ConnectForm(props: {
  id: string;
  linked: readonly string[];
  disabledReason: string | undefined;
  reload: () => Promise<void>;
}) {
  const { id, linked, disabledReason, reload } = props;
  const names = useNameSearch("destination");
  const [selected, setSelected] = useState("");

  async function connect() {
    const key = "POST /transformations/{id}/connectToDestination";
    await client.call(key, { params: { id }, body: { destinationId: selected } });
    showToast(codeTexts.connected);
    setSelected("");
    await reload();
  }

  return (
    <div class="form">
      <SearchedNameField
        label={commonTexts.destination}
        value={selected}
        onChange={setSelected}
        hint={codeTexts.connectHint}
        none={commonTexts.selectOne}
        names={names}
        without={new Set(linked)}
      />
      <div class="ends">
        <Button
          icon="link"
          needs={missingPermission("destinations:connect") ?? "transformations:connect"}
          disabledReason={
            disabledReason ?? (selected === "" ? codeTexts.selectDestinationFirst : undefined)
          }
          onClick={connect}
        >
          {commonTexts.connect}
        </Button>
      </div>
    </div>
  );
}
