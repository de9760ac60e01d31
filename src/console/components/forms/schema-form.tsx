import { Button } from "../button.tsx";
import { Checkbox, SelectField, TextAreaField, TextField } from "./fields.tsx";

/** The part of JSON Schema that the config schemas of destinations use. */
export interface JsonSchema {
  type?: string;
  title?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  contentMediaType?: string;
}

export type FormValues = Record<string, unknown>;

interface FormProps {
  schema: JsonSchema;
  values: FormValues;
  onChange: (values: FormValues) => void;
  /**
   * Returns the error message for the value at a JSON pointer, or undefined when the value is
   * valid.
   */
  errorAt: (path: string) => string | undefined;
  /** JSON pointer to the object that the form edits. */
  path: string;
  /**
   * Whether the server has stored secrets for this object. An empty secret field then keeps the
   * stored secret.
   */
  hasStoredSecrets: boolean;
}

/**
 * Form fields for the properties of an object. A property without a type gets no field and keeps
 * its value.
 */
export function SchemaForm({ schema, values, onChange, ...more }: FormProps) {
  const required = new Set(schema.required);
  const entries = Object.entries(schema.properties ?? {})
    .filter(([, property]) => kindOf(property) !== undefined)
    .sort(([one], [other]) => Number(required.has(other)) - Number(required.has(one)));
  return (
    <>
      {entries.map(([key, property]) => (
        <Property
          key={key}
          {...more}
          name={key}
          schema={property}
          required={required.has(key)}
          path={`${more.path}/${key}`}
          value={values[key]}
          onChange={(value) => onChange(withValue(values, key, value))}
        />
      ))}
    </>
  );
}

/** Returns a copy of the object with the property set. An empty value removes the property. */
function withValue(values: FormValues, key: string, value: unknown): FormValues {
  const { [key]: _, ...rest } = values;
  return value === undefined || value === "" ? rest : { ...rest, [key]: value };
}

type ControlKind =
  | "choice"
  | "text"
  | "code"
  | "secret"
  | "number"
  | "checkbox"
  | "list"
  | "lines"
  | "object"
  | "json";

function kindOf(schema: JsonSchema): ControlKind | undefined {
  if (choicesOf(schema) !== undefined) return "choice";
  switch (schema.type) {
    case "string":
      if (schema.contentMediaType !== undefined) return "code";
      return schema.writeOnly ? "secret" : "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "checkbox";
    case "object":
      return schema.properties ? "object" : "json";
    case "array":
      if (schema.items?.type === "object" && schema.items.properties) return "list";
      return schema.items?.type === "string" ? "lines" : "json";
    default:
      return schema.anyOf === undefined ? undefined : "json";
  }
}

function choicesOf({ anyOf, enum: values }: JsonSchema): readonly string[] | undefined {
  const choices = values ?? anyOf?.map((schema) => schema.const);
  return choices?.every((choice) => typeof choice === "string") ? choices : undefined;
}

interface PropertyProps extends Pick<FormProps, "errorAt" | "path" | "hasStoredSecrets"> {
  name: string;
  schema: JsonSchema;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Property(props: PropertyProps) {
  const { name, schema, required, value, onChange, errorAt, path, hasStoredSecrets } = props;
  const field = {
    label: schema.title ?? labelOf(name),
    optional: !required,
    error: errorAt(path),
    hint: schema.description,
  };
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  switch (kindOf(schema)) {
    case "choice": {
      const choices = (choicesOf(schema) ?? []).map((choice) => ({ value: choice, text: choice }));
      const none = { value: "", text: `Default${defaultOf(schema)}` };
      const options = required ? choices : [none, ...choices];
      return <SelectField {...field} value={text} options={options} onChange={onChange} />;
    }
    case "text":
      return <TextField {...field} required={required} value={text} onInput={onChange} />;
    case "code":
      return <TextAreaField {...field} code value={text} onInput={onChange} />;
    case "secret":
      return (
        <TextField
          {...field}
          type="password"
          autoComplete="new-password"
          required={required && !hasStoredSecrets}
          placeholder={
            hasStoredSecrets ? "Leave blank to keep the current value, for the same host" : ""
          }
          value={text}
          onInput={onChange}
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
          {schema.description && <span class="quiet small"> {schema.description}</span>}
        </Checkbox>
      );
    case "list":
      return <ObjectList {...props} label={field.label} error={field.error} />;
    case "lines":
      return (
        <TextAreaField
          {...field}
          hint={`${schema.description ?? ""} One per line`.trim()}
          value={Array.isArray(value) ? value.join("\n") : ""}
          onInput={(typed) => onChange(typed === "" ? undefined : typed.split("\n"))}
        />
      );
    case "object":
      return (
        <fieldset class="group">
          <legend>{field.label}</legend>
          {schema.description && <p class="quiet small">{schema.description}</p>}
          <SchemaForm
            schema={required || value !== undefined ? schema : { ...schema, required: [] }}
            values={(value ?? {}) as FormValues}
            path={path}
            errorAt={errorAt}
            hasStoredSecrets={hasStoredSecrets}
            onChange={(inner) => onChange(Object.keys(inner).length > 0 ? inner : undefined)}
          />
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
function ObjectList(props: PropertyProps & { label: string; error: string | undefined }) {
  const { label, schema, value, onChange, path, errorAt, hasStoredSecrets, error } = props;
  const items = Array.isArray(value) ? (value as FormValues[]) : [];
  const set = (next: FormValues[]) => onChange(next.length > 0 ? next : undefined);
  return (
    <fieldset class="group">
      <legend>{label}</legend>
      {schema.description && <p class="quiet small">{schema.description}</p>}
      {items.map((item, index) => (
        <div class="item" key={index}>
          <SchemaForm
            schema={schema.items ?? {}}
            values={item}
            path={`${path}/${index}`}
            errorAt={errorAt}
            hasStoredSecrets={hasStoredSecrets}
            onChange={(inner) => set(items.with(index, inner))}
          />
          <Button
            kind="plain"
            icon="bin"
            label={`Remove ${label.toLowerCase()} ${index + 1}`}
            onClick={() => set(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      {error && <p class="wrong">{error}</p>}
      <div>
        <Button compact icon="plus" onClick={() => set([...items, {}])}>
          Add
        </Button>
      </div>
    </fieldset>
  );
}

const acronyms: Record<string, string> = { url: "URL", id: "ID", ms: "(ms)", tls: "TLS", ca: "CA" };

/** Makes a label from a property name: `webhookUrl` becomes “Webhook URL”. */
function labelOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_-]+/)
    .map((word) => acronyms[word] ?? word)
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function defaultOf({ default: value }: JsonSchema): string {
  return value === undefined ? "" : ` (${String(value)})`;
}

const formatJson = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

/**
 * Parses the text of a JSON field. Invalid JSON is returned as text, and the server's error says
 * what it expects.
 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
