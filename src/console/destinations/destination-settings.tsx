import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice, fieldError } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Panel, SkeletonLine } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import type { Destination } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { destinationTypes } from "./destination-types.ts";

/** The settings of a destination; a secret that is left empty stays. */
export function DestinationSettings(props: {
  destination: Destination;
  changed: () => Promise<void>;
}) {
  const { destination, changed } = props;
  const { id, type } = destination;
  const { value: types, error: loading, reload } = useResource(destinationTypes, []);
  const [name, setName] = useState(destination.name);
  const [config, setConfig] = useState<FormValues>(destination.config);
  const schema = types?.find((it) => it.type === type.toLowerCase())?.config;
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("PUT /v2/destinations/{id}", { params: { id }, body: { name, config } });
    showToast("The settings are saved; they hold from the next delivery on");
    await changed();
  });

  return (
    <Panel title="Settings">
      <ErrorNotice error={loading} retry={reload} />
      {schema === undefined ? (
        <SkeletonLine />
      ) : (
        <form class="form slim" onSubmit={submit}>
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            error={fieldError(error, "/name")}
          />
          <SchemaForm
            schema={schema}
            values={config}
            onChange={setConfig}
            path="/config"
            errorAt={(path) => fieldError(error, path)}
            hasStoredSecrets
          />
          <ErrorNotice error={error} />
          <div class="ends">
            <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
              Save settings
            </Button>
          </div>
        </form>
      )}
    </Panel>
  );
}
