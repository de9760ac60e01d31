import { assert } from "../assert.ts";
import { type Config, isReloadable, type Key, keys, takesChange } from "./keys.ts";
import type { ReadSettings, SettingOrigin } from "./reader.ts";
import { type ReportedSetting, reportSettings } from "./report.ts";

/** A part of the server that can take new values of some settings while it runs. */
interface ReloadablePart {
  /** Settings that this part of the server can change without a restart. */
  keys: readonly Key[];
  /**
   * Checks the settings in `config`, and reads the files that they name. Returns a function that
   * puts the settings in force and must not throw. Throws `StartError` and changes nothing if the
   * settings cannot be used.
   */
  prepare(config: Config): () => void;
}

export interface ReloadResult {
  /** Settings whose new values the reload has put in force. */
  changed: Key[];
  /** Settings whose new values take effect only after a restart. */
  needRestart: Key[];
}

/**
 * The settings in force in a running server. A reload puts in force the new values that need no
 * restart. If any setting cannot be used, the reload changes nothing.
 */
export class LiveSettings {
  readonly #parts: ReloadablePart[] = [];
  #inForce: ReadSettings;

  constructor(private readonly read: () => ReadSettings) {
    this.#inForce = read();
  }

  get config(): Config {
    return this.#inForce.config;
  }

  report(): ReportedSetting[] {
    return reportSettings(this.#inForce);
  }

  add(part: ReloadablePart): void {
    this.#parts.push(part);
  }

  /**
   * Removes all parts of the server that were added with `add`. The server calls this method when
   * it has closed these parts. If the server then opens again in the same process, it adds new
   * parts.
   */
  removeParts(): void {
    this.#parts.length = 0;
  }

  /** Asserts that the `keys` of all server parts together are exactly the `reloadable` settings. */
  expectComplete(): void {
    const taken = new Set(this.#parts.flatMap((part) => part.keys));
    const isTaken = (key: Key) => taken.has(key) === isReloadable(key);
    assert(keys.every(isTaken), "Parts take exactly the settings that are reloadable");
  }

  /**
   * Reads the settings again and applies the new values that need no restart. If a setting cannot
   * be used, throws `StartError` and changes nothing.
   */
  reload(): ReloadResult {
    const { config, origins } = this.read();
    const different = keys.filter((key) => !Bun.deepEquals(config[key], this.config[key]));
    const next: Record<string, unknown> = { ...config };
    const nextOrigins: Record<string, SettingOrigin> = { ...origins };
    const isTaken = (key: Key) => takesChange(key, this.config, config);
    const needRestart = different.filter((key) => !isTaken(key));
    for (const key of needRestart) {
      next[key] = this.config[key];
      nextOrigins[key] = this.#inForce.origins[key];
    }
    const settings = Object.freeze(next) as Config;
    // A part prepares even if its settings are unchanged, because their files may have changed.
    const commits = this.#parts.map((part) => part.prepare(settings));
    for (const commit of commits) commit();
    this.#inForce = { config: settings, origins: nextOrigins as ReadSettings["origins"] };
    return { changed: different.filter(isTaken), needRestart };
  }
}
