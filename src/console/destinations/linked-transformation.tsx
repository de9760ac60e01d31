import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { SelectField } from "../components/forms/fields.tsx";
import { Panel } from "../components/layout.tsx";
import type { Destination } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";

/** The code that a destination's events go through: one transformation, or none. */
export function LinkedTransformation(props: {
  destination: Destination;
  changed: () => Promise<void>;
}) {
  const { destination, changed } = props;
  const { value } = useResource(
    async () => (await client.call("GET /transformations")).transformations,
    [destination.id],
  );
  const [chosen, setChosen] = useState<string>();
  const current = destination.transformation?.id ?? "";
  const next = chosen ?? current;
  const params = { id: destination.id };

  async function connect() {
    if (next === "") await client.call("DELETE /v2/destinations/{id}/transformation", { params });
    else {
      const body = { transformationId: next };
      await client.call("PUT /v2/destinations/{id}/transformation", { params, body });
    }
    setChosen(undefined);
    await changed();
  }

  const listed = value?.map(({ id, name }) => ({ value: id, text: name })) ?? [];
  const isListed = current === "" || listed.some((it) => it.value === current);
  return (
    <Panel
      title="Transformation"
      actions={
        current !== "" && <a href={hrefTo("transformations", current)}>Open in the editor</a>
      }
    >
      <div class="row">
        <SelectField
          label="Code that its events go through"
          value={next}
          options={[
            { value: "", text: "None: events arrive as they are" },
            ...(isListed ? [] : [{ value: current, text: current }]),
            ...listed,
          ]}
          onChange={setChosen}
        />
      </div>
      {next !== current && (
        <div>
          <Button
            kind="main"
            needs={["transformations:connect", "destinations:connect"]}
            onClick={connect}
          >
            {next === "" ? "Take it off" : "Connect it"}
          </Button>
        </div>
      )}
    </Panel>
  );
}
