import { useState } from "preact/hooks";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault, faultOf } from "../parts/fault.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Bone, Head, Panel } from "../parts/layout.tsx";
import { SchemaForm, type Values } from "../parts/schema-form.tsx";
import { go, to } from "../router.ts";
import { client } from "../session.ts";
import { destinationTypes } from "./types.ts";

/** The form of a new destination: what it is called, its type, and the type's own settings. */
export function NewDestination() {
  const { value: types, error: loading, reload } = useLoaded(destinationTypes, []);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string>();
  const [config, setConfig] = useState<Values>({});
  const type = types?.find((it) => it.type === chosen) ?? types?.[0];
  const { submit, busy, error, forgetError } = useSubmit(async () => {
    if (type === undefined) return;
    const body = { name, type: type.type, config };
    const { destination } = await client.call("POST /v2/destinations", { body });
    go(to("destinations", destination.id));
  });

  return (
    <>
      <Head title="New destination" way={{ href: to("destinations"), text: "Destinations" }} />
      <Fault error={loading} retry={reload} />
      <Panel title="Settings">
        {type === undefined ? (
          <Bone />
        ) : (
          <form class="form slim" onSubmit={submit}>
            <TextField
              label="Name"
              value={name}
              onInput={setName}
              required
              autoFocus
              placeholder="Warehouse"
              wrong={faultOf(error, "/name")}
            />
            <SelectField
              label="Type"
              value={type.type}
              options={(types ?? []).map((it) => ({ value: it.type, text: it.type }))}
              onChange={(next) => {
                setChosen(next);
                setConfig({});
                forgetError();
              }}
            />
            <SchemaForm
              key={type.type}
              schema={type.config}
              values={config}
              onChange={setConfig}
              path="/config"
              wrongAt={(path) => faultOf(error, path)}
              hasSecrets={false}
            />
            <Fault error={error} />
            <div class="ends">
              <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
                Create destination
              </Button>
              <a class="button plain" href={to("destinations")}>
                Cancel
              </a>
            </div>
          </form>
        )}
      </Panel>
    </>
  );
}
