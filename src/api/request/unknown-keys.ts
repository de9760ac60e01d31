import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { nearestName } from "../../settings/nearest-name.ts";

/**
 * Maximum number of characters of an unknown key for which the error suggests a known key. The
 * error does not contain a longer key.
 */
const LIKE_KEY_CHARS_MAX = 100;
/**
 * Maximum number of an object's known keys that an error about an unknown key lists. With more, it
 * lists none.
 */
const LISTED_KEYS_MAX = 8;

/**
 * Yields an error for each key that the schema does not have. If such keys were ignored, a misspelt
 * `secret`, for example, would leave a webhook without a signature. The errors never contain a
 * value, because it may be a secret.
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
 * Returns the error for an unknown key of the object at `path`. It suggests a similar known key; if
 * there is none, it lists the known keys, unless they are many. It repeats the key only if the key
 * looks like a name, because a caller can send any text as a key.
 */
export function unknownKey(key: string, known: readonly string[], path: string): Detail {
  const isShort = key.length <= LIKE_KEY_CHARS_MAX;
  const isName = isShort && /^[\w.-]+$/.test(key);
  const unknown = isName ? `Unknown key "${key}"` : "Unknown key";
  const meant = isShort
    ? (nearestName(key, known) ?? known.find((name) => isPartOf(name, key)))
    : undefined;
  if (meant !== undefined) return { path, message: `${unknown}, did you mean ${meant}?` };
  const others = known.length <= LISTED_KEYS_MAX ? `, expected one of ${known.join(", ")}` : "";
  return { path, message: `${unknown}${others}` };
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
