import type { SortKeys } from "../../request/list-query.ts";
import type { DestinationState, SourceState } from "./workspace-state.ts";

/** This file sorts sources and destinations: the busiest first, or by a column. */

export function busiestFirst(one: SourceState, other: SourceState): number {
  return other.receivedPerSecond - one.receivedPerSecond || one.name.localeCompare(other.name);
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
