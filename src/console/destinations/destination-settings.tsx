import { Form, linesOf, TextField } from "../components/forms/fields.tsx";
import { appliedValues, labelOf } from "../components/forms/json-schema.ts";
import { storedValues } from "../components/forms/stored-values.ts";
import { UnsavedChanges, useItemForm } from "../components/forms/use-save.tsx";
import { Loaded, Panel, SkeletonLine } from "../components/layout.tsx";
import type { Destination } from "../data/model.ts";
import type { StoredState, Values } from "../data/save.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { ConfigFields } from "./config-fields.tsx";
import { useSettingsTest } from "./connection-test.tsx";
import { type DestinationType, listDestinationTypes, typeOf } from "./destination-types.ts";
import { EventFilterPanel } from "./filter/event-filter.tsx";

type SettingsProps = StoredState & { destination: Destination };

/** Panels with the forms that edit a destination's settings and its event filter. */
export function DestinationSettings(props: SettingsProps) {
  const types = useResource(listDestinationTypes, []);
  const { deliveredBy } = props.destination;
  return (
    <>
      <Panel title={commonTexts.settings}>
        <Loaded resource={types} placeholder={<SkeletonLine />}>
          {(loaded) => <SettingsForm {...props} type={typeOf(loaded, props.destination)} />}
        </Loaded>
      </Panel>
      {types.value && deliveredBy === "pixelmill" && <EventFilterPanel {...props} />}
    </>
  );
}

/** Form that edits a destination's settings. A blank secret field keeps the stored secret. */
function SettingsForm(props: SettingsProps & { type: DestinationType | undefined }) {
  const { destination, type, tag, reload } = props;
  const schema = type?.config ?? {};
  const isOurs = destination.deliveredBy === "pixelmill";
  const params = { id: destination.id };
  const form = useItemForm({
    name: `destination/${destination.id}`,
    base: valuesOf(destination),
    tag,
    reload,
    savedText: destinationTexts.settingsSaved,
    send: ({ name, consentIds, ...config }, ifMatch) => {
      const body = {
        name: name as string,
        consentIds: linesOf(consentIds as string),
        config: appliedValues(type?.config, withoutPrefix(config)),
      };
      return client.callTagged("PUT /v2/destinations/{id}", { params, body, ifMatch });
    },
    valuesOf: (current: { destination: Destination }) => valuesOf(current.destination),
    labelOf: (key) =>
      ownLabels[key] ?? schema.properties?.[configKey(key)]?.title ?? labelOf(configKey(key)),
    schemaOf: (key) => schema.properties?.[configKey(key)],
  });
  const { name = "", consentIds = "", ...config } = form.values;
  const test = useSettingsTest({
    type: destination.type,
    config: appliedValues(type?.config, withoutPrefix(config)),
    destinationId: destination.id,
  });

  return (
    <Form
      isNarrow
      action={destinationTexts.saveSettings}
      {...(isOurs && { trial: test.trial })}
      conflict={form.conflict}
      onSubmit={() => form.submit()}
    >
      <UnsavedChanges form={form} />
      <TextField label={commonTexts.name} required {...form.input("name")} />
      <ConfigFields
        type={type}
        values={withoutPrefix(config)}
        onChange={(next) => form.edit({ name, consentIds, ...withPrefix(next) })}
        stored={storedValues(destination.config, destination.secretsSet)}
        discards={form.discards}
        consents={form.input("consentIds")}
      />
      {test.result}
    </Form>
  );
}

/** Labels of the form's values that are not in the destination's config, by key. */
const ownLabels: Record<string, string> = {
  name: commonTexts.name,
  consentIds: destinationTexts.consents,
};

/**
 * Prefix of the form's keys for the values of the config. It keeps these keys apart from those of
 * the name and the consents, which are not in the config.
 */
const CONFIG = "config.";
const configKey = (key: string) => key.slice(CONFIG.length);

function valuesOf({
  name,
  consentIds = [],
  config,
}: Pick<Destination, "name" | "consentIds" | "config">): Values {
  return { name, consentIds: consentIds.join("\n"), ...withPrefix(config) };
}

function withPrefix(config: Values): Values {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [CONFIG + key, value]));
}

function withoutPrefix(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [configKey(key), value]));
}
