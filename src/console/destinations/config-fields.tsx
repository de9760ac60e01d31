import { useState } from "preact/hooks";
import { isLargeInteger, parseToShow } from "../../api/client.ts";
import { Field, TextAreaField } from "../components/forms/fields.tsx";
import type { FormProps } from "../components/forms/schema-form.tsx";
import { type FormValues, SchemaForm } from "../components/forms/schema-form.tsx";
import { destinationTexts } from "../texts/destinations.ts";
import type { DestinationType } from "./destination-types.ts";

interface ConfigFieldsProps extends Pick<FormProps, "values" | "onChange" | "stored"> {
  type: DestinationType | undefined;
  /** Properties of the field for consent ids. An event that denies one of them is not delivered. */
  consents: Pick<Parameters<typeof TextAreaField>[0], "value" | "onInput" | "path">;
  /**
   * Number of times that the user has discarded changes. When it grows, the fields also drop
   * invalid text, which is not among the form's values.
   */
  discards?: number;
}

/**
 * Form fields for a destination's settings. If rudder-server delivers to this type, each secret has
 * a field, and one field has all other settings as JSON, because pixelmill knows only which
 * settings are secrets.
 */
export function ConfigFields(props: ConfigFieldsProps) {
  const { type, consents, discards, ...more } = props;
  const form = { ...more, path: "/config", isNew: more.stored === undefined };
  const schema = type?.config ?? {};
  if (type?.deliveredBy !== "rudder-server") {
    const field = (
      <TextAreaField
        label={destinationTexts.consents}
        hint={destinationTexts.consentsHint}
        {...consents}
        optional
        isList
        code
      />
    );
    const advanced = { fields: field, isSet: consents.value !== "" };
    return <SchemaForm {...form} schema={schema} foldsAdvanced advanced={advanced} />;
  }
  const { properties = {} } = schema;
  const secrets = new Set(Object.keys(properties).filter((key) => properties[key]?.writeOnly));
  return (
    <>
      <JsonField key={discards} {...more} secrets={secrets} />
      {more.stored && <p class="quiet small">{destinationTexts.secretsEnteredAgain}</p>}
      <SchemaForm {...form} schema={schema} />
    </>
  );
}

/**
 * Text area with a destination's settings as JSON. It omits the settings in `secrets`, because each
 * of these has its own field.
 */
function JsonField(
  props: Pick<ConfigFieldsProps, "values" | "onChange"> & {
    secrets: ReadonlySet<string>;
  },
) {
  const { values, onChange, secrets } = props;
  const [typed, setTyped] = useState<string>();
  const entries = Object.entries(values);
  const others = Object.fromEntries(entries.filter(([key]) => !secrets.has(key)));
  const parsed = typed === undefined ? undefined : parseObject(typed);
  // The form's values may differ from the typed text, such as after changes were discarded.
  const isTyped =
    typed !== undefined &&
    (parsed === undefined || JSON.stringify(parsed) === JSON.stringify(others));
  const isWrong = isTyped && parsed === undefined;
  return (
    <Field
      label={destinationTexts.opaqueSettings}
      hint={destinationTexts.opaqueSettingsHint}
      path="/config"
      error={isWrong ? destinationTexts.expectedJsonObject : undefined}
    >
      {(attributes) => (
        <textarea
          {...attributes}
          class="mono"
          rows={10}
          spellcheck={false}
          value={isTyped ? typed : JSON.stringify(others, null, 2)}
          onInput={({ currentTarget }) => {
            const next = parseObject(currentTarget.value);
            // The browser does not submit a form while one of its fields is invalid.
            currentTarget.setCustomValidity(next ? "" : destinationTexts.expectedJsonObject);
            setTyped(currentTarget.value);
            const kept = Object.fromEntries(entries.filter(([key]) => secrets.has(key)));
            if (next !== undefined) onChange({ ...next, ...kept });
          }}
        />
      )}
    </Field>
  );
}

/** Parses the text of a JSON object. Returns undefined for any other text. */
function parseObject(text: string): FormValues | undefined {
  try {
    const value = parseToShow(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && !isLargeInteger(value) ? (value as FormValues) : undefined;
  } catch {
    return undefined;
  }
}
