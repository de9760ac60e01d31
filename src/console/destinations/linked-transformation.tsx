import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { includeCurrent, optionsOf, SelectField } from "../components/forms/fields.tsx";
import { Panel } from "../components/layout.tsx";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { destinationTexts } from "../texts/destinations.ts";

/**
 * Select for the transformation that the destination is linked to. A destination has at most one.
 */
export function LinkedTransformation(props: {
  destination: Destination;
  reload: () => Promise<void>;
}) {
  const { destination, reload } = props;
  const { value: transformations = [] } = useResource(
    async () =>
      (await client.call("GET /transformations", { query: { code: false } })).transformations,
    [destination.id],
  );
  const [selected, setSelected] = useState<string>();
  const current = destination.transformation?.id ?? "";
  const next = selected ?? current;
  const params = { id: destination.id };

  async function apply() {
    if (next === "") await client.call("DELETE /v2/destinations/{id}/transformation", { params });
    else {
      const body = { transformationId: next };
      await client.call("PUT /v2/destinations/{id}/transformation", { params, body });
    }
    setSelected(undefined);
    await reload();
  }

  return (
    <Panel
      title={destinationTexts.transformation}
      actions={
        current !== "" && (
          <a href={hrefTo("transformations", current)}>{destinationTexts.openInTheEditor}</a>
        )
      }
    >
      <div class="row">
        <SelectField
          label={destinationTexts.transformation}
          value={next}
          options={[
            { value: "", text: destinationTexts.passThrough },
            ...includeCurrent(optionsOf(transformations), current),
          ]}
          onChange={setSelected}
        />
      </div>
      {next !== current && (
        <div>
          <Button
            kind="main"
            needs={["transformations:connect", "destinations:connect"]}
            onClick={apply}
          >
            {next === "" ? destinationTexts.remove : destinationTexts.apply}
          </Button>
        </div>
      )}
    </Panel>
  );
}
