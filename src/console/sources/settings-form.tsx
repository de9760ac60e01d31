import { useState } from "preact/hooks";
import { FieldConflicts } from "../components/forms/field-conflicts.tsx";
import { Checkbox, SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { LinesField, linesOf } from "../components/forms/lines-field.tsx";
import { useSave } from "../components/forms/use-save.ts";
import { showToast } from "../components/toasts.ts";
import type { Source } from "../data/model.ts";
import { client } from "../data/session.ts";
import { sourceTexts } from "../texts/sources.ts";

const { settings: texts } = sourceTexts;

type Settings = Source["settings"];

const optionsOf = (named: Record<string, string>) =>
  Object.entries(named).map(([value, text]) => ({ value, text }));

const ips = optionsOf(texts.ips);
const bots = optionsOf(texts.botModes);

/** Form with the settings of a source: what happens with its events before they are delivered. */
export function SettingsForm(props: {
  source: Source;
  /** Header ETag of the source's state. */
  tag: string | undefined;
  reload: () => Promise<void>;
}) {
  const { source, tag, reload } = props;
  const before = source.settings;
  const [values, setValues] = useState(before);
  const [origins, setOrigins] = useState(before.allowedOrigins.join("\n"));
  const set = (change: Partial<Settings>) => setValues((now) => ({ ...now, ...change }));
  const { save, conflict } = useSave({
    base: { ...before },
    tag,
    send: (settings, ifMatch) =>
      client.call("PUT /v2/sources/{id}", {
        params: { id: source.id },
        body: { settings },
        ifMatch,
      }),
    valuesOf: (now: { source: Source }) => ({ ...now.source.settings }),
    labelOf: (key) => texts.labels[key as keyof Settings],
  });
  return (
    <Form
      action={texts.save}
      onSubmit={async () => {
        if (!(await save({ ...values, allowedOrigins: linesOf(origins) }))) return;
        await reload();
        showToast(texts.saved);
      }}
    >
      {(errorAt) => (
        <>
          <SelectField
            label={texts.labels.ip}
            hint={texts.ipHint}
            value={values.ip}
            options={ips}
            onChange={(ip) => set({ ip: ip as Settings["ip"] })}
          />
          <SelectField
            label={texts.labels.bots}
            hint={texts.botsHint}
            value={values.bots}
            options={bots}
            onChange={(mode) => set({ bots: mode as Settings["bots"] })}
          />
          <Checkbox on={values.geoEnrichment} onChange={(on) => set({ geoEnrichment: on })}>
            {texts.geoEnrichment}
          </Checkbox>
          <LinesField
            label={texts.labels.allowedOrigins}
            hint={texts.allowedOriginsHint}
            value={origins}
            onInput={setOrigins}
            path="/settings/allowedOrigins"
            errorAt={errorAt}
          />
          <TextField
            label={texts.labels.dedupSeconds}
            hint={texts.dedupSecondsHint}
            type="number"
            required
            min={0}
            value={String(values.dedupSeconds)}
            onInput={(seconds) => set({ dedupSeconds: Number(seconds) })}
            error={errorAt("/settings/dedupSeconds")}
          />
          {conflict && <FieldConflicts {...conflict} />}
        </>
      )}
    </Form>
  );
}
