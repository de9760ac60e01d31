import type { Static, TProperties, TSchema } from "@sinclair/typebox";
import { configSchema } from "./schema.ts";

export type Config = Readonly<Static<typeof configSchema>>;
/** Name of a setting, as the configuration file has it. */
export type Key = keyof Config;

/** The keys of all settings, in the order of the schema. */
export const keys = Object.keys(configSchema.properties) as Key[];
export const schemas = configSchema.properties as TProperties as Record<Key, TSchema>;

export const environmentName = (key: string) =>
  `PIXELMILL_${key.replaceAll(".", "_").toUpperCase()}`;
export const flagName = (key: string) => key.replaceAll(".", "-");

/** Whether the value of a setting is never shown. */
export const isSecret = (key: Key): boolean => schemas[key].writeOnly === true;

/**
 * Whether a running server takes a new value of this setting without a restart. One that is
 * reloadable `when set` can be replaced, and needs a restart to be set or unset.
 */
export const isReloadable = (key: Key): boolean => schemas[key].reloadable !== undefined;

/** Whether a running server can take this change of a setting. */
export function takesChange(key: Key, before: Config, after: Config): boolean {
  const isSame = (before[key] === undefined) === (after[key] === undefined);
  return isReloadable(key) && (isSame || schemas[key].reloadable !== "when set");
}
