import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { Panel, ScreenHeader, SkeletonLine } from "../components/layout.tsx";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { listDestinationTypes } from "./destination-types.ts";

/** Form that creates a destination. It asks for a name, a type and the settings of this type. */
export function NewDestination() {
  const { value: types, error, reload } = useResource(listDestinationTypes, []);
  const [name, setName] = useState("");
  const [typeName, setTypeName] = useState<string>();
  const [config, setConfig] = useState<FormValues>({});
  const type = types?.find((it) => it.type === typeName) ?? types?.[0];

  return (
    <>
      <ScreenHeader
        title="New destination"
        parent={{ href: hrefTo("destinations"), text: "Destinations" }}
      />
      <ErrorNotice error={error} retry={reload} />
      <Panel title="Settings">
        {type === undefined ? (
          <SkeletonLine />
        ) : (
          <Form
            isNarrow
            action="Create destination"
            onCancel={() => navigate(hrefTo("destinations"))}
            onSubmit={async () => {
              const body = { name, type: type.type, config };
              const { destination } = await client.call("POST /v2/destinations", { body });
              navigate(hrefTo("destinations", destination.id));
            }}
          >
            {(errorAt, clearError) => (
              <>
                <TextField
                  label="Name"
                  value={name}
                  onInput={setName}
                  required
                  autoFocus
                  placeholder="Warehouse"
                  error={errorAt("/name")}
                />
                <SelectField
                  label="Type"
                  value={type.type}
                  options={(types ?? []).map((it) => ({ value: it.type, text: it.type }))}
                  onChange={(next) => {
                    setTypeName(next);
                    setConfig({});
                    clearError();
                  }}
                />
                <SchemaForm
                  key={type.type}
                  schema={type.config}
                  values={config}
                  onChange={setConfig}
                  path="/config"
                  errorAt={errorAt}
                  hasStoredSecrets={false}
                />
              </>
            )}
          </Form>
        )}
      </Panel>
    </>
  );
}
