import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import { client } from "../data/session.ts";

/** Connects one more source or destination; nothing where all are connected. */
export function ConnectForm(props: {
  label: string;
  free: readonly { id: string; name: string }[];
  /** Both ends of the connection to the one that is chosen. */
  ends: (id: string) => { sourceId: string; destinationId: string };
  changed: () => Promise<void>;
}) {
  const { label, free, ends, changed } = props;
  const [chosen, setChosen] = useState("");
  const [first] = free;
  if (first === undefined) return null;
  const id = free.some((it) => it.id === chosen) ? chosen : first.id;
  return (
    <div class="connect">
      <SelectField
        label={label}
        value={id}
        options={free.map((it) => ({ value: it.id, text: it.name }))}
        onChange={setChosen}
      />
      <Button
        icon="link"
        needs="workspace:admin"
        onClick={async () => {
          await client.call("POST /v2/connections", { body: ends(id) });
          await changed();
        }}
      >
        Connect
      </Button>
    </div>
  );
}
