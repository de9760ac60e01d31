import type { DestinationChoice } from "./destination-choice.ts";

/** An event in the form that destinations and user code receive, with the fields that lanes read. */
export interface BuiltEvent {
  /** The event as JSON text in UTF-8. No other event shares the memory. */
  json: Uint8Array;
  /**
   * Identifies the user: the userId, or the anonymousId when the userId is blank. The events of one
   * user are delivered in order.
   */
  user: string;
  /** The event's userId; empty when the event has none. */
  userId: string;
  anonymousId: string;
  /** Whether `userId` and `anonymousId` are strings in the JSON, if the event has them. */
  hasTextIds?: boolean;
  /** The name of a track event (its field `event`); empty or absent for other events. */
  name?: string | undefined;
  /** The event's own messageId; absent for an event whose record has the messageId. */
  messageId?: string | undefined;
  /** Destinations that the event selects or excludes; absent when all may get it. */
  choice?: DestinationChoice | undefined;
  /** Whether the settings of the source forbid delivering the event. */
  isDropped?: true;
}
