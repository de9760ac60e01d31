import { useState } from "preact/hooks";
import { Form, linesOf, SelectField, TextField } from "../components/forms/fields.tsx";
import { appliedValues } from "../components/forms/json-schema.ts";
import type { FormValues } from "../components/forms/schema-form.tsx";
import { fieldsOf } from "../components/forms/use-fields.ts";
import { Loaded, Panel, ScreenHeader, SkeletonLine } from "../components/layout.tsx";
import { useKeptValues } from "../data/kept-values.ts";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { ConfigFields } from "./config-fields.tsx";
import { useSettingsTest } from "./connection-test.tsx";
import { copiedSettings, isMissing, secretLabel } from "./copied-settings.ts";
import {
  type DestinationType,
  labelOfType,
  listDestinationTypes,
  optionOf,
} from "./destination-types.ts";

/**
 * Screen with the form that creates a destination. If `copyOf` is the id of a destination, the form
 * begins with the settings of that destination.
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
  /** Ids of consents, one per line. The destination gets no event that denies one of them. */
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
      type: optionOf(copied ?? types[0] ?? { type: "", deliveredBy: "pixelmill" }),
      config: copy?.config ?? {},
      consentIds: (copied?.consentIds ?? []).join("\n"),
    },
    tag: undefined,
  });
  const { name, type: option, config, consentIds } = form.values as NewValues;
  const change = (changed: Partial<NewValues>) => form.edit({ ...form.values, ...changed });
  const { input } = fieldsOf(form.values as NewValues, change);
  const type = types.find((it) => optionOf(it) === option);
  const { type: typeName = option, deliveredBy = "pixelmill" } = type ?? {};
  const sentConfig = appliedValues(type?.config, config);
  const test = useSettingsTest({ type: typeName, config: sentConfig });
  const isCopy = copied !== undefined && option === optionOf(copied);
  const missing = isCopy ? (copy?.secrets ?? []).filter((at) => isMissing(config, at)) : [];
  return (
    <Form
      isNarrow
      itemType={option}
      action={destinationTexts.createDestination}
      {...(deliveredBy === "pixelmill" && { trial: test.trial })}
      onCancel={() => {
        form.discard();
        navigate(hrefTo("destinations", ...(copied ? [copied.id] : [])));
      }}
      onSubmit={async () => {
        const consents = linesOf(consentIds);
        const body = {
          name,
          type: typeName,
          deliveredBy,
          config: sentConfig,
          consentIds: consents,
          // A copy for which the user selects another type than the original's has no filter.
          ...(isCopy && copied.filter && { filter: copied.filter }),
        };
        const { destination } = await client.call("POST /v2/destinations", { body });
        form.discard();
        navigate(hrefTo("destinations", destination.id));
      }}
    >
      {copied && <p class="notice">{destinationTexts.copyExplained(copied.name)}</p>}
      {missing.length > 0 && (
        <div class="notice warn" role="status">
          <p>{destinationTexts.secretsToEnter}</p>
          <ul>
            {missing.map((pointer) => (
              <li key={pointer}>{secretLabel(type?.config ?? {}, config, pointer)}</li>
            ))}
          </ul>
        </div>
      )}
      <TextField
        label={commonTexts.name}
        required
        autoFocus
        placeholder={destinationTexts.nameExample}
        {...input("name")}
      />
      <SelectField
        label={commonTexts.type}
        path="/type"
        value={option}
        options={types.map((it) => ({ value: optionOf(it), text: labelOfType(it) }))}
        onChange={(next) => change({ type: next, config: {}, consentIds: "" })}
      />
      <ConfigFields
        key={option}
        type={type}
        values={config}
        onChange={(next) => change({ config: next })}
        stored={undefined}
        consents={input("consentIds")}
      />
      {test.result}
    </Form>
  );
}
