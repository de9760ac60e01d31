import type { DestinationChoice } from "./destination-choice.ts";

/** An event as JSON for destinations and user code, with the fields that delivery code reads. */
export interface BuiltEvent {
  /** The event as JSON text in UTF-8, in memory that later events do not overwrite. */
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
  /**
   * The messageId that the SDK sent. Undefined when the server made the messageId, which is then in
   * the record.
   */
  messageId?: string | undefined;
  /** The event's rules that exclude destinations; undefined when it has none. */
  choice?: DestinationChoice | undefined;
  /** Whether the settings of the source forbid delivering the event. */
  isDropped?: true;
}
