/** Settings of a source: which events it accepts, and how it processes them before delivery. */
export interface SourceSettings {
  /**
   * Whether events get the geographical location of the client's IP address as `context.geo`.
   * Requires the server's setting `geolocation.database`.
   */
  geoEnrichment: boolean;
  /**
   * Part of the client's IP address that is recorded: all (`keep`), a part (`truncate`) or none
   * (`drop`).
   */
  ip: (typeof ipModes)[number];
  /**
   * Treatment of events with the user agent of a bot: deliver them unchanged (`keep`), deliver them
   * with the bot's name (`mark`), or drop them (`drop`).
   */
  bots: (typeof botModes)[number];
  /**
   * Origins of web pages that may send events, such as `https://example.com` or
   * `https://*.example.com`. When the list is empty, pages of every origin may send events.
   */
  allowedOrigins: readonly string[];
  /**
   * Seconds after an event in which another event with the same messageId counts as its repetition
   * and is not delivered. With 0, every event is delivered.
   */
  dedupSeconds: number;
}

export const ipModes = ["keep", "truncate", "drop"] as const;
export const botModes = ["keep", "mark", "drop"] as const;

const defaults: SourceSettings = {
  geoEnrichment: false,
  ip: "keep",
  bots: "keep",
  allowedOrigins: [],
  dedupSeconds: 0,
};

/**
 * Returns all settings of a source: the stored ones, and defaults for settings that are not stored.
 */
export function settingsOfSource(source: { settings?: Partial<SourceSettings> }): SourceSettings {
  const { settings } = source;
  return settings === undefined ? defaults : { ...defaults, ...settings };
}

/** Matches at most 255 characters: `http(s)://`, optional `*.`, a host and an optional port. */
const ORIGIN_PATTERN =
  /^(?=.{1,255}$)https?:\/\/(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** Returns whether a string is a valid item of `allowedOrigins`. */
export function isOriginPattern(text: string): boolean {
  return ORIGIN_PATTERN.test(text);
}
