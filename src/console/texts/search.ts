import type { ComponentChildren } from "preact";
import { pluralize } from "../format.ts";
import { commonTexts } from "./common.ts";

/** Texts of the screen that searches stored events. */
export const searchTexts = {
  userColumn: "User",
  noResultsYet: { title: "No results yet", text: "Older events have not been searched." },
  noResults: {
    title: "No results",
    text: "Events are stored until every destination has them, and after that for the retention time that System shows.",
  },
  anonymousId: "Anonymous id",
  eventName: "Event name",
  outcomes: {
    settled: "Delivered or dropped",
    "in-flight": "In flight",
    "dead-letter": commonTexts.failed,
    repeated: "Duplicate, not delivered again",
    "not-connected": "Not connected",
    unknown: "Unknown",
  },
  replayThese: "Replay these",
  allFound: (count: number) => `${pluralize(count, "event")}, end of results`,
  hasNewer: ". Events that a newer version of pixelmill stored were not searched",
  foundBackTo: (count: number, time: ComponentChildren) => [
    pluralize(count, "event"),
    time && [", back to ", time],
  ],
};
