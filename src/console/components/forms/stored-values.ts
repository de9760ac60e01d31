import { parseToShow } from "../../../api/client.ts";
import { conflictTexts } from "../../texts/conflicts.ts";
import type { JsonSchema } from "./json-schema.ts";

type Values = Record<string, unknown>;

/**
 * Placeholder for a stored secret in the values of a form. The API never returns the secret itself.
 */
export const STORED_SECRET = Symbol();

/** Whether the value of a schema is a secret, or contains one at any depth. */
export function hasSecret({ writeOnly, properties = {}, items }: JsonSchema): boolean {
  if (writeOnly || (items && hasSecret(items))) return true;
  return Object.values(properties).some(hasSecret);
}

/** Returns a text that shows a field's value, with a fixed text in place of each secret. */
export function textOf(value: unknown, schema: JsonSchema): string {
  const shown = masked(value, schema);
  if (shown === undefined || shown === null || shown === "") return conflictTexts.empty;
  return typeof shown === "string" ? shown : JSON.stringify(shown);
}

/** Returns a copy of a value in which a fixed text replaces each secret. */
function masked(value: unknown, { writeOnly, properties = {}, items = {} }: JsonSchema): unknown {
  if (writeOnly) return value === null ? null : conflictTexts.secret;
  if (Array.isArray(value)) return value.map((item) => masked(item, items));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, inner]) => {
    return [key, masked(inner, properties[key] ?? {})] as const;
  });
  return Object.fromEntries(members);
}

/**
 * Returns a copy of an item's values from an API answer, with `STORED_SECRET` in place of each
 * stored secret. `secretsSet` has the JSON pointers to the stored secrets.
 */
export function storedValues(values: Values, secretsSet: readonly string[]): Values {
  const stored = copyOf(values);
  for (const pointer of secretsSet) {
    const { holder, key } = holderOf(stored, pointer);
    if (holder !== undefined) holder[key] = STORED_SECRET;
  }
  return stored;
}

/**
 * Returns a deep copy of an API answer, made through JSON. `structuredClone` cannot copy the
 * objects by which `parseToShow` represents large integers.
 */
export const copyOf = <T>(values: T) => parseToShow(JSON.stringify(values)) as T;

/**
 * Returns the object or list that contains the value at a JSON pointer (`holder`), and the value's
 * key in it (`key`).
 */
export function holderOf(values: Values, pointer: string) {
  const keys = pointer.split("/").slice(1);
  const key = keys.pop() ?? "";
  const holder = keys.reduce<unknown>((it, at) => (it as Values | undefined)?.[at], values);
  return { holder: holder as Values | undefined, key };
}

/**
 * Returns, for each item of an edited list, the stored item with equal fields apart from secrets,
 * or undefined. No stored item is returned twice.
 */
export function storedItemsOf(
  items: readonly Values[],
  stored: unknown,
  schema: JsonSchema,
): (Values | undefined)[] {
  const left = Array.isArray(stored) ? [...(stored as Values[])] : [];
  return items.map((item) => {
    const index = left.findIndex((it) => identity(it, schema) === identity(item, schema));
    return index < 0 ? undefined : left.splice(index, 1)[0];
  });
}

/** Returns a sorted JSON text of an item's fields except secrets. Equal items have equal texts. */
function identity(item: Values, { properties = {} }: JsonSchema): string {
  const others = Object.entries(item).filter(([key]) => !properties[key]?.writeOnly);
  return JSON.stringify(others.sort());
}
