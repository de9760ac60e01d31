/**
 * Where the value of a setting came from: its default, the configuration file, a credential of
 * systemd, the environment, or a flag. Each of these sources overrides the ones listed before it.
 */
export type SettingSource = "default" | "file" | "credential" | "environment" | "flag";

/** One setting with its value, as it was read from one source such as the environment. */
export interface Setting {
  key: string;
  value: unknown;
  /**
   * Name of the setting in its source, such as that of an environment variable. Error messages use
   * it.
   */
  name: string;
  origin: Exclude<SettingSource, "default">;
}
