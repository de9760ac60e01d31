/** Settings of a source: how its events are processed before they reach destinations. */
export interface SourceSettings {
  /**
   * Whether events get the location of their IP address as `context.geo`. Requires the setting
   * `geolocation.database` of the server.
   */
  geoEnrichment: boolean;
  /** The part of the client's IP address that is recorded. */
  ip: (typeof ipModes)[number];
  /** The handling of events whose user agent is a bot. */
  bots: (typeof botModes)[number];
  /**
   * Origins of web pages that may send events, such as `https://example.com` or
   * `https://*.example.com`. When it is empty, pages of all origins may.
   */
  allowedOrigins: readonly string[];
  /**
   * Seconds within which an event that an SDK sends again with the same messageId is not delivered
   * again; 0 to deliver every event.
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

/** Returns all settings of a source: those that are stored, and defaults for the others. */
export function settingsOfSource({
  settings,
}: {
  settings?: Partial<SourceSettings>;
}): SourceSettings {
  return settings === undefined ? defaults : { ...defaults, ...settings };
}

/** Scheme, host name (perhaps with `*.` before it) and perhaps a port, in at most 255 characters. */
const ORIGIN_PATTERN =
  /^(?=.{1,255}$)https?:\/\/(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** Whether a text is a valid item of `allowedOrigins`. */
export function isOriginPattern(text: string): boolean {
  return ORIGIN_PATTERN.test(text);
}
