import type { SortKeys } from "../../request/list-query.ts";
import { destinationStates } from "./status-schema.ts";
import type { ConnectionState, DestinationState, SourceState } from "./workspace-state.ts";

/** This file sorts sources, destinations and connections: most urgent first, or by a column. */

export function busiestFirst(one: SourceState, other: SourceState): number {
  return other.receivedPerSecond - one.receivedPerSecond || one.name.localeCompare(other.name);
}

/** Returns a comparison of connections: enabled ones first, then by destination's urgency. */
export function urgentConnectionFirst(destinations: readonly DestinationState[]) {
  const urgencyOf = new Map(
    destinations.map(({ id, state }) => [id, destinationStates.indexOf(state)]),
  );
  const urgency = ({ destinationId }: ConnectionState) =>
    urgencyOf.get(destinationId) ?? destinationStates.length;
  return (one: ConnectionState, other: ConnectionState) =>
    Number(other.enabled) - Number(one.enabled) ||
    urgency(one) - urgency(other) ||
    other.rates.failed - one.rates.failed ||
    other.rates.received - one.rates.received;
}

export const destinationSorts = ["name", "type", "delivered", "pending", "deadLetters"] as const;
export const destinationKeys: SortKeys<DestinationState> = {
  name: ({ name }) => name,
  type: ({ type }) => type,
  delivered: ({ rates }) => rates.delivered,
  pending: ({ lagEvents }) => lagEvents,
  deadLetters: ({ deadLetters }) => deadLetters,
};

export const sourceSorts = ["name", "received"] as const;
export const sourceKeys: SortKeys<SourceState> = {
  name: ({ name }) => name,
  received: ({ receivedPerSecond }) => receivedPerSecond,
};
