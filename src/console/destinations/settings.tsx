import { useState } from "preact/hooks";
import type { Destination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault, faultOf } from "../parts/fault.tsx";
import { TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Bone, Panel } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { SchemaForm, type Values } from "../parts/schema-form.tsx";
import { client } from "../session.ts";
import { destinationTypes } from "./types.ts";

/** The settings of a destination; a secret that is left empty stays. */
export function Settings(props: { destination: Destination; changed: () => Promise<void> }) {
  const { destination, changed } = props;
  const { id, type } = destination;
  const { value: types, error: loading, reload } = useLoaded(destinationTypes, []);
  const [name, setName] = useState(destination.name);
  const [config, setConfig] = useState<Values>(destination.config);
  const schema = types?.find((it) => it.type === type.toLowerCase())?.config;
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("PUT /v2/destinations/{id}", { params: { id }, body: { name, config } });
    tell("The settings are saved; they hold from the next delivery on");
    await changed();
  });

  return (
    <Panel title="Settings">
      <Fault error={loading} retry={reload} />
      {schema === undefined ? (
        <Bone />
      ) : (
        <form class="form slim" onSubmit={submit}>
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            wrong={faultOf(error, "/name")}
          />
          <SchemaForm
            schema={schema}
            values={config}
            onChange={setConfig}
            path="/config"
            wrongAt={(path) => faultOf(error, path)}
            hasSecrets
          />
          <Fault error={error} />
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
