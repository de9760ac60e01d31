import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { optionsOf, SelectField } from "../components/forms/fields.tsx";
import { client } from "../data/session.ts";
import { commonTexts } from "../texts/common.ts";

/**
 * Form that connects the source or destination of the page to another destination or source.
 * Nothing is shown when all are connected.
 */
export function ConnectForm(props: {
  label: string;
  unconnected: readonly { id: string; name: string }[];
  /**
   * Returns the source and the destination of the new connection. `id` is the source or destination
   * that the user selected.
   */
  endsFor: (id: string) => { sourceId: string; destinationId: string };
  reload: () => Promise<void>;
}) {
  const { label, unconnected, endsFor, reload } = props;
  const [selected, setSelected] = useState("");
  const [first] = unconnected;
  if (first === undefined) return null;
  const id = unconnected.some((it) => it.id === selected) ? selected : first.id;
  return (
    <div class="connect">
      <SelectField
        label={label}
        value={id}
        options={optionsOf(unconnected)}
        onChange={setSelected}
      />
      <Button
        icon="link"
        needs="workspace:admin"
        onClick={async () => {
          await client.call("POST /v2/connections", { body: endsFor(id) });
          await reload();
        }}
      >
        {commonTexts.connect}
      </Button>
    </div>
  );
}
