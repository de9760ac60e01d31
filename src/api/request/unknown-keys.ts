import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../../errors.ts";
import { nearestName } from "../../settings/nearest-name.ts";
import { isObject } from "../schema/common.ts";

/** Most characters of an unknown key that is compared with the known keys to suggest one. */
const LIKE_KEY_CHARS_MAX = 100;

/**
 * Yields an error for each key that the schema does not have. A misspelt `secret`, for example,
 * would leave a webhook unsigned. The errors never contain the value, which may be a secret.
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

/**
 * The error for an unknown key of the object at `path`. It may suggest a known key, and never
 * contains the unknown key itself.
 */
export function unknownKey(key: string, known: readonly string[], path: string): Detail {
  const similar = similarKey(key, known);
  return similar === undefined
    ? { path, message: `Expected one of ${known.join(", ")}, got another key` }
    : { path: `${path}/${similar}`, message: `Expected ${similar}, got a key that is like it` };
}

function similarKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > LIKE_KEY_CHARS_MAX) return undefined;
  return nearestName(key, known) ?? known.find((name) => isPartOf(name, key));
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
