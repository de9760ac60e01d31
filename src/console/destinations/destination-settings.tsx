import { useState } from "preact/hooks";
import { TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { Panel, SkeletonLine } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { showToast } from "../components/toasts.ts";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { listDestinationTypes } from "./destination-types.ts";

/** Form that edits a destination's settings. An empty secret field keeps the stored secret. */
export function DestinationSettings(props: {
  destination: Destination;
  reload: () => Promise<void>;
}) {
  const { id, type, ...stored } = props.destination;
  const types = useResource(listDestinationTypes, []);
  const [name, setName] = useState(stored.name);
  const [config, setConfig] = useState<FormValues>(stored.config);

  return (
    <Panel title="Settings">
      <Loaded resource={types} placeholder={<SkeletonLine />}>
        {(loaded) => (
          <Form
            isNarrow
            action="Save settings"
            onSubmit={async () => {
              const input = { params: { id }, body: { name, config } };
              await client.call("PUT /v2/destinations/{id}", input);
              showToast("Settings saved; they apply from the next delivery");
              await props.reload();
            }}
          >
            {(errorAt) => (
              <>
                <TextField
                  label="Name"
                  value={name}
                  onInput={setName}
                  required
                  error={errorAt("/name")}
                />
                <SchemaForm
                  schema={loaded.find((it) => it.type === type.toLowerCase())?.config ?? {}}
                  values={config}
                  onChange={setConfig}
                  path="/config"
                  errorAt={errorAt}
                  hasStoredSecrets
                />
              </>
            )}
          </Form>
        )}
      </Loaded>
    </Panel>
  );
}
