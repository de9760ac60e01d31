import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../../errors.ts";
import { nearestName } from "../../settings/nearest-name.ts";
import { isObject } from "../schema/common.ts";

/** Maximum length of an unknown key that is compared with the known keys to suggest one of them. */
const LIKE_KEY_CHARS_MAX = 100;
/** Maximum number of known keys that the error lists. */
const LISTED_KEYS_MAX = 8;

/**
 * Yields an error for each key that the schema does not have. Otherwise a misspelt `secret`, for
 * example, would leave a webhook without a signature. The errors never contain the value, which may
 * be a secret.
 */
export function* unknownKeys(schema: TSchema, value: unknown, path: string): Generator<Detail> {
  if (Array.isArray(value) && schema.type === "array") {
    for (const [index, item] of value.entries()) {
      yield* unknownKeys(schema.items, item, `${path}/${index}`);
    }
  }
  if (!isObject(value) || schema.type !== "object" || schema.properties === undefined) return;
  if (schema.additionalProperties === true) return;
  const known = Object.keys(schema.properties);
  for (const key in value) {
    if (known.includes(key))
      yield* unknownKeys(schema.properties[key], value[key], `${path}/${key}`);
    else yield unknownKey(key, known, path);
  }
}

/**
 * Returns the error for an unknown key of the object at `path`. The error suggests the nearest
 * known key, or lists all known keys when they are few. It contains the unknown key only if that is
 * a misspelt known key, because errors contain no other input.
 */
export function unknownKey(key: string, known: readonly string[], path: string): Detail {
  const isShort = key.length <= LIKE_KEY_CHARS_MAX;
  const meant = isShort ? nearestName(key, known) : undefined;
  if (meant !== undefined) {
    return { path, message: `Unknown key "${key}", did you mean ${meant}?` };
  }
  const similar = isShort ? known.find((name) => isPartOf(name, key)) : undefined;
  if (similar !== undefined) return { path, message: `Unknown key, did you mean ${similar}?` };
  const others = known.length <= LISTED_KEYS_MAX ? `, expected one of ${known.join(", ")}` : "";
  return { path, message: `Unknown key${others}` };
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
