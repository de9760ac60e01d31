import type { Static, TProperties, TSchema } from "@sinclair/typebox";
import { configSchema } from "./schema.ts";

export type Config = Readonly<Static<typeof configSchema>>;
/** Name of a setting as it is written in the configuration file. */
export type Key = keyof Config;

/** The keys of all settings, in the order of the schema. */
export const keys = Object.keys(configSchema.properties) as Key[];
export const schemas = configSchema.properties as TProperties as Record<Key, TSchema>;

export const environmentName = (key: string) =>
  `PIXELMILL_${key.replaceAll(".", "_").toUpperCase()}`;
export const flagName = (key: string) => key.replaceAll(".", "-");

/** Whether a setting is a secret. The value of a secret is never shown. */
export const isSecret = (key: Key): boolean => schemas[key].writeOnly === true;

/**
 * Whether a running server can apply a new value of a setting without a restart. A setting with
 * `reloadable: "when set"` counts too, although it still needs a restart to be added or removed.
 */
export const isReloadable = (key: Key): boolean => schemas[key].reloadable !== undefined;

/**
 * Whether a running server can change a setting from its value in `before` to its value in `after`
 * without a restart.
 */
export function takesChange(key: Key, before: Config, after: Config): boolean {
  const isSame = (before[key] === undefined) === (after[key] === undefined);
  return isReloadable(key) && (isSame || schemas[key].reloadable !== "when set");
}
