import type { ComponentChildren } from "preact";
import { isolated, pluralize } from "../format.ts";

/** Texts of the screen of the audit log. */
export const auditTexts = {
  who: "Who",
  action: "Action",
  resource: "Resource",
  address: "Address",
  changes: "Changes",
  server: "Server",
  unknownCaller: "Unknown",
  allActions: "All actions",
  actorId: "Token or member id",
  resourceId: "Resource id",
  apply: "Apply filters",
  noResults: {
    title: "No entries",
    text: "Changes, replays, purges, sign-ins and refused tokens are recorded here.",
  },
  noResultsYet: { title: "No entries yet", text: "Older entries have not been searched." },
  valueBefore: "Before",
  valueAfter: "After",
  secretChanged: "Changed; secrets are not recorded",
  cut: "truncated",
  noChanges: "No field changed.",
  parameters: "Parameters and results",
  request: "Request",
  outcomes: {
    done: "Done",
    failed: "Failed",
    unknown: "Unknown",
  } satisfies Record<string, string>,
  fieldCount: (count: number) => pluralize(count, "field"),
  changesLeftOut: (count: number) => `${pluralize(count, "further field")} not recorded.`,
  requests: (count: number, addresses: number | undefined) =>
    addresses === undefined
      ? pluralize(count, "request")
      : `${pluralize(count, "request")} from ${pluralize(addresses, "address", "addresses")}`,
  entryTitle: (action: string, name: string | undefined) =>
    name === undefined ? action : `${action}: ${isolated(name)}`,
  keptSince: (count: number, isComplete: boolean, time: ComponentChildren) => [
    isComplete
      ? `${pluralize(count, "entry", "entries")}, end of results`
      : pluralize(count, "entry", "entries"),
    time && [". Entries from before ", time, " may have been deleted"],
  ],
};
