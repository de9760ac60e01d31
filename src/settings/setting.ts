/**
 * Where the value of a setting came from: its default, the configuration file, a credential of
 * systemd, the environment, or a flag. Each of these sources overrides the ones listed before it.
 */
export type SettingSource = "default" | "file" | "credential" | "environment" | "flag";

/** One setting with the value that the operator has written. */
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
