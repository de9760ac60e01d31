import type { ComponentChildren } from "preact";
import { pluralize } from "../format.ts";

/** Texts of the event search. */
export const searchTexts = {
  field: "Field",
  userColumn: "User",
  loadOlder: "Load older",
  noResultsYet: "No results yet",
  noResultsYetHint: "Older events have not been searched.",
  noResults: "No results",
  noResultsHint:
    "Events are stored until every destination has them, and after that for the retention time that System shows.",
  anonymousId: "Anonymous id",
  eventName: "Event name",
  property: "Property (path=value)",
  anyText: "Any text",
  outcome: "Outcome",
  allOutcomes: "All outcomes",
  outcomes: {
    settled: "Delivered or dropped",
    "in-flight": "In flight",
    "dead-letter": "Dead letter",
    repeated: "Sent again, not delivered again",
    "not-connected": "Not connected",
    unknown: "Unknown",
  },
  refused: "Refused at ingestion",
  noDestination: "No destination",
  replayThese: "Replay these",
  exportEvents: "Export JSONL",
  allFound: (count: number) => `${pluralize(count, "event")}, end of results`,
  foundBackTo: (count: number, time: ComponentChildren) => [
    pluralize(count, "event"),
    time && [", back to ", time],
  ],
};
