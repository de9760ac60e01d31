import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { Panel, SkeletonLine } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { listDestinationTypes } from "./destination-types.ts";

/** Form of a destination's settings; an empty secret keeps its stored value. */
export function DestinationSettings(props: {
  destination: Destination;
  reload: () => Promise<void>;
}) {
  const { id, type, ...stored } = props.destination;
  const { value: types, error, reload } = useResource(listDestinationTypes, []);
  const [name, setName] = useState(stored.name);
  const [config, setConfig] = useState<FormValues>(stored.config);
  const schema = types?.find((it) => it.type === type.toLowerCase())?.config;

  return (
    <Panel title="Settings">
      <ErrorNotice error={error} retry={reload} />
      {schema === undefined ? (
        <SkeletonLine />
      ) : (
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
                schema={schema}
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
    </Panel>
  );
}
