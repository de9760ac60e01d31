import type { ComponentChildren } from "preact";
import { formatCount, isolated, pluralize } from "../format.ts";

/** Texts of the screens of replays. */
export const replayTexts = {
  replayStarted: "Replay started",
  sourceHint: "A selected source need not be connected to the destination",
  allConnectedSources: "All connected to the destination",
  receivedBeforeHint: "Leave blank for now",
  eventHint: "Name of a track event",
  maxRate: "Max events/s",
  rateHint: "Live events go first",
  selectDestination: "Select a destination",
  startReplay: "Start replay",
  noReplays: {
    title: "No replays",
    text: "A replay sends stored events to a destination again, through the transformation that is live then. Live events go first.",
  },
  started: "Started",
  scope: "Scope",
  failureReasons: "Failure reasons",
  severalDestinations: "several destinations",
  givenUpFor: (reason: string) => `Failed before: ${reason}`,
  startedBy: (author: string) => `Started by ${isolated(author)}`,
  timesFailed: (count: number) => `${formatCount(count)} × `,
  moreReasons: (count: number) => `and ${pluralize(count, "more reason")}`,
  processed: {
    events: (count: number) => `${pluralize(count, "event")} processed`,
    "dead-letters": (count: number) => `${pluralize(count, "dead letter")} requeued`,
    purge: (count: number) => `${pluralize(count, "dead letter")} deleted`,
  },
  speed: (left: number | undefined, rate: string) =>
    left === undefined ? rate : `About ${formatCount(left)} left, ${rate}`,
  waitsFor: (reason: string) => `Waits: ${reason}`,
  cancelQuestion: "Cancel this replay?",
  cancelPurgeConsequence: "Deleted events stay deleted.",
  cancelReplayConsequence: "No more events are sent. Those already sent stay delivered.",
  cancelReplay: "Cancel replay",
  replayCancelled: "Replay cancelled",
  kinds: { events: "Events", "dead-letters": "Dead letters", purge: "Purge" },
  selectedKinds: {
    events: "Selected events",
    "dead-letters": "Selected dead letters",
    purge: "Purge of selected dead letters",
  },
  /** Says which events a replay or purge covers, such as `Events of Website to CRM`. */
  scopeOf: (
    kind: string,
    isOfEvents: boolean,
    source: ComponentChildren,
    destination: ComponentChildren,
  ) => [kind, source && [" of ", source], isOfEvents ? " to " : " of ", destination],
  receivedBetween: (from: ComponentChildren, to: ComponentChildren) => [
    "Received from ",
    from,
    " to ",
    to,
  ],
  notRetained: (time: ComponentChildren) => ["No longer retained: events before ", time],
  states: {
    running: "running",
    done: "done",
    partlyFailed: "partly failed",
    cancelled: "cancelled",
    failed: "failed",
  },
};
