/** Documentation page that explains each screen, by the first segment of the screen's route. */
export const screenGuides: Readonly<Record<string, string>> = {
  "": "console",
  sources: "pixels",
  destinations: "destinations/delivery",
  transformations: "user-code",
  libraries: "user-code",
  events: "destinations/delivery#live-tail",
  search: "replays#search",
  "dead-letters": "destinations/delivery#dead-letters",
  replays: "replays#replays",
  alerts: "alerts",
  audit: "api#audit-log",
  settings: "api#signing-in",
  system: "operating#what-to-watch",
};
