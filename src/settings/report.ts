import { Value } from "@sinclair/typebox/value";
import { type Config, isReloadable, isSecret, type Key, keys } from "./keys.ts";
import type { ReadSettings, SettingOrigin } from "./reader.ts";
import { configSchema } from "./schema.ts";

/** Text that stands for the value of a secret. */
const MASKED = "(set)";

/** One setting in the output of `pixelmill config`. */
export interface ReportedSetting extends SettingOrigin {
  key: Key;
  /** Value of the setting, or `(set)` if it is a secret. Absent when the setting has no value. */
  value?: unknown;
  /** Whether a running server takes a new value of the setting without a restart. */
  reloadable: boolean;
}

/** Returns all settings in the order of the schema, with the sources of their values. */
export function reportSettings({ config, origins }: ReadSettings): ReportedSetting[] {
  return keys.map((key) => ({
    key,
    ...(config[key] !== undefined && { value: shownValue(config, key) }),
    ...origins[key],
    reloadable: isReloadable(key),
  }));
}

/**
 * Returns the settings whose values differ from their defaults, by key. The value of a secret is
 * replaced with `(set)`.
 */
export function nonDefaultSettings(config: Config): Record<string, unknown> {
  const defaults = Value.Default(configSchema, {}) as Record<string, unknown>;
  const changed = keys.filter((key) => !Bun.deepEquals(config[key], defaults[key]));
  return Object.fromEntries(changed.map((key) => [key, shownValue(config, key)]));
}

const shownValue = (config: Config, key: Key) => (isSecret(key) ? MASKED : config[key]);

/**
 * Writes settings as lines of a TOML file, with the source of each value as a comment. For a
 * secret, or a setting without a value, the whole line is a comment.
 */
export function settingsAsToml(settings: readonly ReportedSetting[]): string {
  return settings.map(tomlLine).join("");
}

function tomlLine({ key, value, source, name }: ReportedSetting): string {
  if (value === undefined) return `# ${key} is not set\n`;
  const origin = source === "default" ? source : name;
  // JSON text of a string, a number, a boolean or a list of strings is also valid TOML.
  const text = `${key} = ${JSON.stringify(value)}`;
  return isSecret(key) ? `# ${key} is set  # ${origin}\n` : `${text}  # ${origin}\n`;
}
