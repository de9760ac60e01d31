import { isObject } from "../../is-object.ts";
import type { DestinationDefinition } from "./definition.ts";

type Config = Record<string, unknown>;

/**
 * Returns a destination's settings for a source of type `sourceType`, with the definition's
 * defaults. A setting with separate values by type gets this type's value, or is removed if it has
 * none: `{"connectionMode": {"web": "cloud"}}` becomes `{"connectionMode": "cloud"}`.
 */
export function configForSource(
  { config: { destConfig = {} }, defaults }: DestinationDefinition,
  config: Config,
  sourceType: string,
): Config {
  const { defaultConfig: _, ...byType } = destConfig;
  const types = new Set(Object.keys(byType));
  const made: Config = { ...defaults, ...config };
  for (const key of new Set(Object.values(byType).flat())) {
    const values = made[key];
    if (!hasOnlyKeys(values, types)) continue;
    if (Object.hasOwn(values, sourceType)) made[key] = values[sourceType];
    else delete made[key];
  }
  return made;
}

/** Whether a value is an object with at least one key, all of which are in `keys`. */
function hasOnlyKeys(value: unknown, keys: ReadonlySet<string>): value is Config {
  const own = isObject(value) ? Object.keys(value) : [];
  return own.length > 0 && own.every((key) => keys.has(key));
}
