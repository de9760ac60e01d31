/**
 * Where the value of a setting came from: its default, the configuration file, a credential of
 * systemd, the environment, or a flag. In this order, each source overrides the ones before it.
 */
export type SettingSource = "default" | "file" | "credential" | "environment" | "flag";

/** A value of a setting, as the operator wrote it. */
export interface Setting {
  key: string;
  value: unknown;
  /**
   * Name of the setting as the user wrote it, such as that of an environment variable; used in
   * error messages.
   */
  name: string;
  origin: Exclude<SettingSource, "default">;
}
