import { applies, type EffectCondition } from "../../../destinations/applies-when.ts";

/** This file derives a form's fields from a JSON Schema: each property's control and label. */

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
  /** Whether most users set this optional property. If so, its field is not folded away. */
  "x-essential"?: boolean;
  "x-applies-when"?: EffectCondition;
}

/**
 * Returns `values` without the properties that have no effect. A property has no effect if its
 * schema has a condition `x-applies-when` that the values of other properties do not meet.
 */
export function appliedValues(
  schema: JsonSchema | undefined,
  values: Record<string, unknown>,
): Record<string, unknown> {
  if (schema === undefined) return values;
  return Object.fromEntries(Object.entries(values).filter(([key]) => applies(schema, key, values)));
}

/** Returns which form control edits the value of a schema. Undefined if the schema has no type. */
export function kindOf(schema: JsonSchema) {
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

/**
 * Returns the strings that the schema allows as values. Undefined if it also allows other values.
 */
export function choicesOf({ anyOf, enum: values }: JsonSchema): readonly string[] | undefined {
  const choices = values ?? anyOf?.map((schema) => schema.const);
  return choices?.every((choice) => typeof choice === "string") ? choices : undefined;
}

const acronyms: Record<string, string> = { url: "URL", id: "ID", ms: "(ms)", tls: "TLS", ca: "CA" };

/** Returns the label for a property name: `Webhook URL` for `webhookUrl`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_-]+/)
    .map((word) => acronyms[word] ?? word)
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
