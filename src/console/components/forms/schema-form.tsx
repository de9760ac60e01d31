import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { parseToShow } from "../../../api/client.ts";
import { applies } from "../../../destinations/applies-when.ts";
import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { withCode } from "../inline-code.tsx";
import { Checkbox, SelectField, TextAreaField, TextField } from "./fields.tsx";
import { FormErrors, useErrorAt } from "./form-errors.ts";
import { choicesOf, type JsonSchema, kindOf, labelOf } from "./json-schema.ts";
import { SecretField } from "./secret-field.tsx";
import { hasSecret, STORED_SECRET, storedItemsOf } from "./stored-values.ts";

export type FormValues = Record<string, unknown>;

export interface FormProps {
  schema: JsonSchema;
  values: FormValues;
  onChange: (values: FormValues) => void;
  /** JSON pointer to the edited object in the request's body. */
  path: string;
  /**
   * The object as the server has stored it, with `STORED_SECRET` in place of each secret. Undefined
   * if it is not stored yet. If the user leaves the field of a stored secret blank, the secret is
   * kept.
   */
  stored: FormValues | undefined;
  /** Whether the form creates an item. If so, every required secret must be typed. */
  isNew: boolean;
  /** Whether the form folds away the optional properties whose schema lacks `x-essential`. */
  foldsAdvanced?: boolean;
  /**
   * Additional fields for the part of the form that is folded away. `isSet` says whether one of
   * them has a value. If so, this part is open at first.
   */
  advanced?: { fields: ComponentChildren; isSet: boolean } | undefined;
}

/**
 * Form fields for the properties of an object. Properties that have no effect because of the values
 * of other properties get no field. Properties without a type get no field either, and their values
 * are sent unchanged.
 */
export function SchemaForm(props: FormProps) {
  const { schema, values, stored, onChange, foldsAdvanced = false, advanced, ...more } = props;
  const required = new Set(schema.required);
  const properties = Object.entries(schema.properties ?? {});
  const leftOut = properties.filter(
    ([key]) => !applies(schema, key, values) && isFilled(values[key] ?? stored?.[key]),
  );
  const entries = properties
    .filter(([key, property]) => kindOf(property) !== undefined && applies(schema, key, values))
    .sort(([one], [other]) => Number(required.has(other)) - Number(required.has(one)));
  const isFolded = ([key, property]: [string, JsonSchema]) =>
    foldsAdvanced && !required.has(key) && property["x-essential"] !== true;
  const folded = entries.filter(isFolded);
  const fieldOf = ([key, property]: [string, JsonSchema]) => (
    <Property
      key={key}
      {...more}
      name={key}
      schema={property}
      required={required.has(key)}
      path={`${more.path}/${key}`}
      value={values[key]}
      stored={stored?.[key]}
      onChange={(value) => onChange(withValue(values, key, value))}
    />
  );
  return (
    <>
      {entries.filter((entry) => !isFolded(entry)).map(fieldOf)}
      {leftOut.length > 0 && (
        <p class="quiet small" role="status">
          {commonTexts.leftOut(leftOut.map(([key, { title = labelOf(key) }]) => title))}
        </p>
      )}
      {(folded.length > 0 || advanced) && (
        <Advanced
          isOpen={advanced?.isSet === true || folded.some(([key]) => values[key] !== undefined)}
        >
          {folded.map(fieldOf)}
          {advanced?.fields}
        </Advanced>
      )}
    </>
  );
}

/** Whether a field with this value counts as filled in. */
const isFilled = (value: unknown) => ![undefined, null, false, ""].includes(value as null);

/** Returns a copy of `values` with the property `key` set, or removed if the value is empty. */
function withValue(values: FormValues, key: string, value: unknown): FormValues {
  const { [key]: _, ...rest } = values;
  return value === undefined || value === "" ? rest : { ...rest, [key]: value };
}

interface PropertyProps extends Pick<FormProps, "path" | "isNew"> {
  name: string;
  schema: JsonSchema;
  required: boolean;
  value: unknown;
  stored: unknown;
  onChange: (value: unknown) => void;
}

function Property(props: PropertyProps) {
  const { name, schema, required, value, stored, onChange, path, isNew } = props;
  const field = {
    label: schema.title ?? labelOf(name),
    optional: !required,
    path,
    hint: schema.description,
  };
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  switch (kindOf(schema)) {
    case "choice": {
      const choices = (choicesOf(schema) ?? []).map((choice) => ({ value: choice, text: choice }));
      const none = { value: "", text: commonTexts.defaultOption(schema.default) };
      const options = required ? choices : [none, ...choices];
      return <SelectField {...field} value={text} options={options} onChange={onChange} />;
    }
    case "text":
      return <TextField {...field} required={required} value={text} onInput={onChange} />;
    case "code":
      return <TextAreaField {...field} code value={text} onInput={onChange} />;
    case "secret":
      return (
        <SecretField
          {...field}
          required={required && isNew}
          isSet={isNew ? undefined : stored === STORED_SECRET}
          value={value === null ? null : text}
          onChange={onChange}
        />
      );
    case "number":
      return (
        <TextField
          {...field}
          type="number"
          required={required}
          placeholder={String(schema.default ?? "")}
          {...(schema.minimum !== undefined && { min: schema.minimum })}
          {...(schema.maximum !== undefined && { max: schema.maximum })}
          value={text}
          onInput={(typed) => onChange(typed === "" ? undefined : Number(typed))}
        />
      );
    case "checkbox":
      return (
        <Checkbox on={value === true} onChange={onChange}>
          {field.label}
          {schema.description && <span class="quiet small"> {withCode(schema.description)}</span>}
        </Checkbox>
      );
    case "list":
      return <ObjectList {...props} label={field.label} />;
    case "lines":
      return (
        <TextAreaField
          {...field}
          hint={commonTexts.onePerLine(schema.description)}
          value={Array.isArray(value) ? value.join("\n") : ""}
          onInput={(typed) => onChange(typed === "" ? undefined : typed.split("\n"))}
        />
      );
    case "object":
      return (
        <fieldset class="group">
          <legend>{field.label}</legend>
          {schema.description && <p class="quiet small">{withCode(schema.description)}</p>}
          <SchemaForm
            schema={required || value !== undefined ? schema : { ...schema, required: [] }}
            values={(value ?? {}) as FormValues}
            path={path}
            stored={value === undefined ? undefined : (stored as FormValues | undefined)}
            isNew={isNew}
            onChange={(inner) => onChange(Object.keys(inner).length > 0 ? inner : undefined)}
          />
          {!required && value !== undefined && hasSecret(schema) && (
            <div>
              <Button
                compact
                label={commonTexts.removeNamed(field.label)}
                onClick={() => onChange(undefined)}
              >
                {commonTexts.remove}
              </Button>
            </div>
          )}
        </fieldset>
      );
    default:
      return (
        <TextAreaField
          {...field}
          code
          value={formatJson(value)}
          onInput={(it) => onChange(parseJson(it))}
        />
      );
  }
}

/** Editor for a list of objects, such as the headers of a webhook. */
function ObjectList(props: PropertyProps & { label: string }) {
  const { label, schema, value, onChange, path, isNew } = props;
  const error = useErrorAt(path);
  const items = Array.isArray(value) ? (value as FormValues[]) : [];
  const stored = storedItemsOf(items, props.stored, schema.items ?? {});
  const set = (next: FormValues[]) => onChange(next.length > 0 ? next : undefined);
  return (
    <fieldset class="group">
      <legend>{label}</legend>
      {schema.description && <p class="quiet small">{withCode(schema.description)}</p>}
      {items.map((item, index) => (
        <div class="item" key={index}>
          <SchemaForm
            schema={schema.items ?? {}}
            values={item}
            path={`${path}/${index}`}
            stored={stored[index]}
            isNew={isNew}
            onChange={(inner) => set(items.with(index, inner))}
          />
          <Button
            kind="plain"
            icon="bin"
            label={commonTexts.removeItem(label, index + 1)}
            onClick={() => set(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      {error && <p class="wrong">{withCode(error)}</p>}
      <div>
        <Button compact icon="plus" onClick={() => set([...items, {}])}>
          {commonTexts.add}
        </Button>
      </div>
    </fieldset>
  );
}

const formatJson = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

/**
 * Parses the text of a JSON field. Text that is not valid JSON is returned as a string, so that the
 * server refuses it with an error that describes the expected value.
 */
function parseJson(text: string): unknown {
  try {
    return parseToShow(text);
  } catch {
    return text;
  }
}

/**
 * Folded part of a form for the fields that few people need. It opens by itself when one of its
 * fields gets an error from the server or from the browser's validation.
 */
function Advanced(props: {
  /** Whether the group of optional fields is open at first. True if one of them has a value. */
  isOpen: boolean;
  children: ComponentChildren;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpenAtFirst] = useState(props.isOpen);
  const errors = useRef(0);
  // Renders this part again when the form gets an error.
  useContext(FormErrors);
  const open = () => {
    if (details.current) details.current.open = true;
  };
  useEffect(() => {
    const now = details.current?.querySelectorAll(".wrong").length ?? 0;
    if (now > errors.current) open();
    errors.current = now;
  });
  return (
    <details ref={details} class="advanced" open={isOpenAtFirst} onInvalidCapture={open}>
      <summary>{commonTexts.advanced}</summary>
      <div class="form">{props.children}</div>
    </details>
  );
}
