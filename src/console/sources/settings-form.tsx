import {
  Checkbox,
  Form,
  linesOf,
  optionsByValue,
  SelectField,
  TextAreaField,
  TextField,
} from "../components/forms/fields.tsx";
import { UnsavedChanges, useItemForm } from "../components/forms/use-save.tsx";
import type { Source } from "../data/model.ts";
import type { StoredState } from "../data/save.ts";
import { client } from "../data/session.ts";
import { sourceTexts } from "../texts/sources.ts";

const { settings: texts } = sourceTexts;

type Settings = Source["settings"];

const ips = optionsByValue(texts.ips);
const bots = optionsByValue(texts.botModes);

/** Form with a source's settings, such as its allowed origins and what it does with bots. */
export function SettingsForm({ source, tag, reload }: StoredState & { source: Source }) {
  const { id, settings: stored } = source;
  const form = useItemForm({
    name: `source-settings/${id}`,
    base: { ...stored },
    tag,
    reload,
    savedText: texts.saved,
    send: (settings, ifMatch) =>
      client.callTagged("PUT /v2/sources/{id}", { params: { id }, body: { settings }, ifMatch }),
    valuesOf: (now: { source: Source }) => ({ ...now.source.settings }),
    labelOf: (key) => texts.labels[key as keyof Settings],
  });
  const values = form.values as unknown as Settings;
  const origins = values.allowedOrigins.join("\n");
  return (
    <Form
      action={texts.save}
      conflict={form.conflict}
      onSubmit={() => form.submit({ ...values, allowedOrigins: linesOf(origins) })}
    >
      <UnsavedChanges form={form} />
      <SelectField
        label={texts.labels.ip}
        hint={texts.ipHint}
        options={ips}
        {...form.select("ip", "/settings/ip")}
      />
      <SelectField
        label={texts.labels.bots}
        hint={texts.botsHint}
        options={bots}
        {...form.select("bots", "/settings/bots")}
      />
      <Checkbox {...form.checkbox("geoEnrichment")}>{texts.geoEnrichment}</Checkbox>
      <TextAreaField
        label={texts.labels.allowedOrigins}
        hint={texts.allowedOriginsHint}
        value={origins}
        onInput={(lines) => form.set({ allowedOrigins: lines.split("\n") })}
        path="/settings/allowedOrigins"
        optional
        isList
        code
      />
      <TextField
        label={texts.labels.dedupSeconds}
        hint={texts.dedupSecondsHint}
        type="number"
        required
        min={0}
        value={String(values.dedupSeconds)}
        onInput={(seconds) => form.set({ dedupSeconds: Number(seconds) })}
        path="/settings/dedupSeconds"
      />
    </Form>
  );
}
