import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice, fieldError } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Panel, ScreenHeader, SkeletonLine } from "../components/layout.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { destinationTypes } from "./destination-types.ts";

/** The form of a new destination: what it is called, its type, and the type's own settings. */
export function NewDestination() {
  const { value: types, error: loading, reload } = useResource(destinationTypes, []);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string>();
  const [config, setConfig] = useState<FormValues>({});
  const type = types?.find((it) => it.type === chosen) ?? types?.[0];
  const { submit, busy, error, forgetError } = useSubmit(async () => {
    if (type === undefined) return;
    const body = { name, type: type.type, config };
    const { destination } = await client.call("POST /v2/destinations", { body });
    navigate(hrefTo("destinations", destination.id));
  });

  return (
    <>
      <ScreenHeader
        title="New destination"
        way={{ href: hrefTo("destinations"), text: "Destinations" }}
      />
      <ErrorNotice error={loading} retry={reload} />
      <Panel title="Settings">
        {type === undefined ? (
          <SkeletonLine />
        ) : (
          <form class="form slim" onSubmit={submit}>
            <TextField
              label="Name"
              value={name}
              onInput={setName}
              required
              autoFocus
              placeholder="Warehouse"
              error={fieldError(error, "/name")}
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
              errorAt={(path) => fieldError(error, path)}
              hasStoredSecrets={false}
            />
            <ErrorNotice error={error} />
            <div class="ends">
              <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
                Create destination
              </Button>
              <a class="button plain" href={hrefTo("destinations")}>
                Cancel
              </a>
            </div>
          </form>
        )}
      </Panel>
    </>
  );
}
