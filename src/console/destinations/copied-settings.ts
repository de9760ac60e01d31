import { type JsonSchema, labelOf } from "../components/forms/json-schema.ts";
import { copyOf, holderOf } from "../components/forms/stored-values.ts";
import type { Destination } from "../data/model.ts";
import { destinationTexts } from "../texts/destinations.ts";

type Values = Record<string, unknown>;

/** Text in API answers in place of the secret part of a string, such as the password in a URL. */
const MASK = "***";

/**
 * Returns the settings (`config`) for a copy of a destination. They lack the values that the API
 * hides in whole or in part; `secrets` has the JSON pointers to these values.
 */
export function copiedSettings({ config, secretsSet }: Pick<Destination, "config" | "secretsSet">) {
  const copy = copyOf(config);
  const secrets = [...new Set([...secretsSet, ...maskedTexts(copy)])];
  for (const pointer of secrets) {
    const { holder, key } = holderOf(copy, pointer);
    if (holder !== undefined) delete holder[key];
  }
  return { config: copy, secrets };
}

/**
 * Whether the settings of a copied destination still lack the secret at a JSON pointer. Returns
 * false if the user has removed the list item to which the secret belongs.
 */
export function isMissing(config: Values, pointer: string): boolean {
  const { holder, key } = holderOf(config, pointer);
  if (holder === undefined) return false;
  return holder[key] === undefined || holder[key] === "" || holder[key] === null;
}

/** Returns the label of the secret at a JSON pointer, such as “Headers: X-Api-Key”. */
export function secretLabel(schema: JsonSchema, config: Values, pointer: string): string {
  const [key = "", inner = "", last] = pointer.split("/").slice(1);
  const property = schema.properties?.[key];
  const label = property?.title ?? labelOf(key);
  if (inner === "") return label;
  if (last === undefined) return destinationTexts.secretOf(label, labelOf(inner));
  const { from } = (config[key] as Values[])[Number(inner)] ?? {};
  return destinationTexts.secretOf(label, typeof from === "string" ? from : labelOf(last));
}

/** Returns JSON pointers to the strings of which the API hides a part. */
function maskedTexts(value: unknown, path = ""): string[] {
  if (typeof value === "string") return value.includes(MASK) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => maskedTexts(inner, `${path}/${key}`));
}
