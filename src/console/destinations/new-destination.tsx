import { useState } from "preact/hooks";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { LinesField, linesOf } from "../components/forms/lines-field.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { Panel, ScreenHeader, SkeletonLine } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { useKeptValues } from "../data/kept-values.ts";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { copiedSettings, isMissing, secretLabel } from "./copied-settings.ts";
import { type DestinationType, listDestinationTypes } from "./destination-types.ts";
import { useSettingsTest } from "./use-settings-test.tsx";

/**
 * Screen with the form that creates a destination. `copyOf` is the id of a destination whose
 * settings the form begins with.
 */
export function NewDestination({ copyOf }: { copyOf: string | undefined }) {
  const resource = useResource(async () => {
    const [types, copied] = await Promise.all([listDestinationTypes(), loadCopied(copyOf)]);
    return { types, copied };
  }, [copyOf]);
  return (
    <>
      <ScreenHeader
        title={commonTexts.newDestination}
        parent={{ href: hrefTo("destinations"), text: commonTexts.destinations }}
      />
      <Panel title={commonTexts.settings}>
        <Loaded resource={resource} placeholder={<SkeletonLine />}>
          {({ types, copied }) => <NewDestinationForm types={types} copied={copied} />}
        </Loaded>
      </Panel>
    </>
  );
}

async function loadCopied(id: string | undefined): Promise<Destination | undefined> {
  if (id === undefined) return undefined;
  return (await client.call("GET /v2/destinations/{id}", { params: { id } })).destination;
}

interface NewValues extends Record<string, unknown> {
  name: string;
  type: string;
  config: FormValues;
  /** Ids of the consents that the destination needs, one a line. */
  consentIds: string;
}

function NewDestinationForm(props: {
  types: readonly DestinationType[];
  copied: Destination | undefined;
}) {
  const { types, copied } = props;
  const [copy] = useState(() => copied && copiedSettings(copied));
  const form = useKeptValues(["destination", "new", copied?.id].join("/"), {
    base: {
      name: copied ? destinationTexts.copyOf(copied.name) : "",
      type: copied?.type.toLowerCase() ?? types[0]?.type ?? "",
      config: copy?.config ?? {},
      consentIds: (copied?.consentIds ?? []).join("\n"),
    },
    tag: undefined,
  });
  const { name, type: typeName, config, consentIds } = form.values as NewValues;
  const change = (changed: Partial<NewValues>) => form.edit({ ...form.values, ...changed });
  const test = useSettingsTest({ type: typeName, config });
  const schema = types.find(({ type }) => type === typeName)?.config ?? {};
  const isCopy = typeName === copied?.type.toLowerCase();
  const missing = isCopy ? (copy?.secrets ?? []).filter((at) => isMissing(config, at)) : [];
  return (
    <Form
      isNarrow
      action={destinationTexts.createDestination}
      trial={test.trial}
      onCancel={() => {
        form.discard();
        navigate(hrefTo("destinations", ...(copied ? [copied.id] : [])));
      }}
      onSubmit={async () => {
        const body = { name, type: typeName, config, consentIds: linesOf(consentIds) };
        const { destination } = await client.call("POST /v2/destinations", { body });
        form.discard();
        navigate(hrefTo("destinations", destination.id));
      }}
    >
      {(errorAt, clearError) => (
        <>
          {copied && <p class="notice">{destinationTexts.copyExplained(copied.name)}</p>}
          {missing.length > 0 && (
            <div class="notice warn" role="status">
              <p>{destinationTexts.secretsToEnter}</p>
              <ul>
                {missing.map((pointer) => (
                  <li key={pointer}>{secretLabel(schema, config, pointer)}</li>
                ))}
              </ul>
            </div>
          )}
          <TextField
            label={commonTexts.name}
            value={name}
            onInput={(typed) => change({ name: typed })}
            required
            autoFocus
            placeholder={destinationTexts.nameExample}
            error={errorAt("/name")}
          />
          <SelectField
            label={destinationTexts.type}
            value={typeName}
            options={types.map(({ type }) => ({ value: type, text: type }))}
            onChange={(next) => {
              change({ type: next, config: {} });
              clearError();
            }}
          />
          <SchemaForm
            key={typeName}
            schema={schema}
            values={config}
            onChange={(next) => change({ config: next })}
            path="/config"
            errorAt={errorAt}
            stored={undefined}
            isNew
            foldsAdvanced
          />
          <LinesField
            label={destinationTexts.consents}
            hint={destinationTexts.consentsHint}
            value={consentIds}
            onInput={(typed) => change({ consentIds: typed })}
            path="/consentIds"
            errorAt={errorAt}
          />
          {test.result}
        </>
      )}
    </Form>
  );
}
