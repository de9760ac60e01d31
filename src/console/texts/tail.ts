import type { ComponentChildren } from "preact";
import { formatCompact, formatCount, formatDuration, isolated, pluralize } from "../format.ts";
import { commonTexts } from "./common.ts";

const waitingHint = "Events appear here when they are received, delivered, dropped or failed.";

const outcomeNames = {
  delivered: "Delivered",
  dropped: "Dropped",
  "dead-letter": "Failed",
  "in-flight": "In flight",
  repeated: "Duplicate",
  "not-connected": "Not connected",
  settled: "Delivered or dropped",
  unknown: "Unknown",
};

/** Texts of the screen of the live tail (stream of new events). */
export const tailTexts = {
  receivedEarlier: "The event as received is no longer in memory",
  receivedEventNoun: "received event",
  eventAt: (destination: string) => `event at ${isolated(destination)}`,
  /** Label of the second or a later outcome of an event at the same destination. */
  numberedOutcome: (destination: string, number: number) => `${isolated(destination)}, ${number}`,
  savedAsTestEvent: "Saved as a test event; the editor lists it",
  useAsTestEvent: "Use as test event",
  ended: "The tail ended; reconnecting",
  searchEvents: "Search events",
  pausedWith: (events: number) => `Paused, ${formatCompact(events)} new`,
  heldWith: (events: number) => `Paused on hover, ${formatCompact(events)} new`,
  /** Texts shown instead of events while the tail is connecting, or after it has ended. */
  notOpen: {
    connecting: { title: "Connecting", text: waitingHint },
    ended: {
      title: commonTexts.notConnected,
      text: "The tail reconnects by itself. No event is lost for its destinations.",
    },
  },
  changes: (changed: number, removed: readonly string[]) =>
    [
      changed > 0 && `${pluralize(changed, "line")} changed`,
      removed.length > 0 && `removed: ${removed.join(", ")}`,
    ]
      .filter(Boolean)
      .join("; "),
  unchanged: "Unchanged",
  noMatches: { title: "No matches", text: "New events that match appear here." },
  noEventsYet: { title: "Waiting for events", text: waitingHint },
  sendTestEvent: "Send a test event from a source",
  from: (source: ComponentChildren) => ["From ", source],
  shown: (events: number, buffered: number) =>
    `The latest ${formatCount(events)} of ${formatCount(buffered)} buffered`,
  skipped: (events: number) => `${formatCompact(events)} skipped`,
  outcomeNames,
  /**
   * Label of a badge for an outcome: the destination's name alone if the event was delivered,
   * otherwise the name and the outcome.
   */
  outcomeAt: (destination: string, outcome: keyof typeof outcomeNames) =>
    outcome === "delivered"
      ? isolated(destination)
      : `${isolated(destination)} ${outcomeNames[outcome].toLowerCase()}`,
  /**
   * Explanations of the outcomes. The explanation of an event's outcome is shown if the console can
   * show neither the event as sent to the destination nor a reason for the outcome.
   */
  explanations: {
    delivered: "Delivered. The event is too long to be kept in memory.",
    dropped: "Dropped by the transformation, or not for this destination.",
    "dead-letter": "Failed, and kept as a dead letter.",
    "in-flight": "Waiting to be delivered, or being retried.",
    repeated:
      "The source sent an event with the same messageId before, so it is not delivered again.",
    "not-connected": "Received while the connection was paused, or before it was created.",
    settled: "Delivered, or dropped by the transformation. The event is no longer in memory.",
    unknown: "There are too many dead letters to search.",
  },
  /** Reasons why an event still waits to be delivered, by the state of its destination. */
  waitsFor: {
    down: "Waits until the destination, which is down, takes events again",
    failing: "Waits for the next attempt: deliveries to this destination fail",
    suspended: "Waits for its transformation, which is suspended because every batch fails",
    waiting: "Waits for a sandbox to run its transformation",
    unknown: "The node that delivers it does not answer",
  },
  reasonSince: (reason: string, since: ComponentChildren) => [`${reason}; began `, since],
  pending: (events: number, seconds: number) =>
    `${pluralize(events, "event")} pending at this destination, the oldest for ${formatDuration(seconds)}`,
  refusedExplained: (reason: string) => `Refused at ingestion, so it is not delivered: ${reason}`,
  openDeadLetter: "Open the dead letter",
  recentEvents: "Recent events",
  noRecentEvents: {
    title: "No recent events",
    text: "Events appear here when they arrive. Older ones may be in the event search.",
  },
  noRecentMatches: "No recent event has this outcome",
  /**
   * Notice below a list of recent events: the event logs were searched back to `time`. `search` is
   * a link to a search for older events.
   */
  readBackTo: (time: ComponentChildren, search: ComponentChildren) => [
    "Searched back to ",
    time,
    "; older ones: ",
    search,
  ],
  showAll: (events: number) => `Show all ${formatCount(events)}`,
  showEvents: (name: string) => `Events of the connection with ${isolated(name)}`,
  missingNodes: (nodes: readonly string[]) =>
    `Events are missing: no answer from ${nodes.join(", ")}.`,
};
