import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { errorMessage } from "../components/error-notice.tsx";
import { includeCurrent, optionsOf, SelectField } from "../components/forms/fields.tsx";
import { Panel } from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";

/**
 * Maximum number of transformations that the select lists. If there are more, the user finds the
 * others with a search field.
 */
const OPTIONS_MAX = 100;

/**
 * Select for the transformation that the destination is linked to. A destination has at most one.
 */
export function LinkedTransformation(props: {
  destination: Destination;
  /** Name of the linked transformation. Undefined while it is not loaded. */
  currentName: string | undefined;
  reload: () => Promise<void>;
}) {
  const { destination, currentName, reload } = props;
  const [text, setText] = useState("");
  const { value: found, error } = useResource(
    () =>
      client.call("GET /v2/code", { query: { kind: "transformation", text, count: OPTIONS_MAX } }),
    [destination.id, text],
  );
  // A draft cannot be linked. The published ones come first.
  const listed = optionsOf((found?.code ?? []).filter(({ isPublished }) => isPublished));
  const [selected, setSelected] = useState<string>();
  const current = destination.transformation?.id ?? "";
  const next = selected ?? current;
  const params = { id: destination.id };
  const options = includeCurrent(listed, current, isolated(currentName ?? current));

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
      title={commonTexts.transformation}
      actions={
        current !== "" && (
          <a href={hrefTo("transformations", current)}>{destinationTexts.openInTheEditor}</a>
        )
      }
    >
      {(text !== "" || (found?.total ?? 0) > OPTIONS_MAX) && (
        <SearchField
          label={destinationTexts.searchTransformations}
          value={text}
          onInput={(typed) => {
            setText(typed);
            setSelected(undefined);
          }}
        />
      )}
      <div class="row">
        <SelectField
          label={commonTexts.transformation}
          error={error === undefined ? undefined : errorMessage(error)}
          value={next}
          options={[{ value: "", text: destinationTexts.passThrough }, ...options]}
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
            {next === "" ? commonTexts.remove : destinationTexts.apply}
          </Button>
        </div>
      )}
    </Panel>
  );
}
