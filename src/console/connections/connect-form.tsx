import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { client } from "../data/session.ts";
import type { NameSearch } from "../data/use-name-search.ts";
import { commonTexts } from "../texts/common.ts";

/**
 * Form that connects the source or destination of the page to another destination or source.
 * Nothing is shown when all are connected.
 */
export function ConnectForm(props: {
  label: string;
  /** Search of the sources or destinations, and the ids of those that are connected. */
  names: NameSearch;
  connected: ReadonlySet<string>;
  /**
   * Returns the source and the destination of the new connection. `id` is the source or destination
   * that the user selected.
   */
  endsFor: (id: string) => { sourceId: string; destinationId: string };
  reload: () => Promise<void>;
}) {
  const { label, names, connected, endsFor, reload } = props;
  const [selected, setSelected] = useState("");
  const first = names.found?.find(({ id }) => !connected.has(id));
  const id = selected === "" || connected.has(selected) ? first?.id : selected;
  if ((names.all ?? 0) <= connected.size) return null;
  return (
    <div class="connect">
      <SearchedNameField
        label={label}
        value={id ?? ""}
        names={names}
        without={connected}
        onChange={setSelected}
      />
      <Button
        icon="link"
        needs="workspace:admin"
        disabledReason={id === undefined ? commonTexts.selectOne : undefined}
        onClick={async () => {
          await client.call("POST /v2/connections", { body: endsFor(id!) });
          await reload();
        }}
      >
        {commonTexts.connect}
      </Button>
    </div>
  );
}
