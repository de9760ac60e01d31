import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../../errors.ts";
import { misspelt } from "../../settings/misspelt.ts";
import { isObject } from "../schema/common.ts";

/** Longest unknown key for which a similar known key is looked for. */
const LIKE_KEY_CHARS_MAX = 100;

/**
 * Keys that the schema does not have, such as a misspelt `secret`, without which a webhook would
 * not be signed. The value is never repeated in the error, for it may be a secret.
 */
export function* unknownKeys(schema: TSchema, value: unknown, path: string): Generator<Detail> {
  if (Array.isArray(value) && schema.type === "array") {
    for (const [index, item] of value.entries()) {
      yield* unknownKeys(schema.items, item, `${path}/${index}`);
    }
  }
  if (!isObject(value) || schema.type !== "object" || schema.properties === undefined) return;
  const known = Object.keys(schema.properties);
  for (const key in value) {
    if (known.includes(key))
      yield* unknownKeys(schema.properties[key], value[key], `${path}/${key}`);
    else yield unknownKey(key, known, path);
  }
}

/** What is wrong with a key of the object at `path`; the key itself is the caller's own text. */
export function unknownKey(key: string, known: readonly string[], path: string): Detail {
  const meant = similarKey(key, known);
  return meant === undefined
    ? { path, message: `Expected one of ${known.join(", ")}, got another key` }
    : { path: `${path}/${meant}`, message: `Expected ${meant}, got a key that is like it` };
}

function similarKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > LIKE_KEY_CHARS_MAX) return undefined;
  return misspelt(key, known) ?? known.find((name) => isPartOf(name, key));
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
