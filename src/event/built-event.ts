import type { DestinationChoice } from "./destination-choice.ts";

/** An event as JSON for destinations and user code, and the members that delivery needs. */
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
  /** Whether `userId` and `anonymousId`, where present, are strings in the JSON, not numbers. */
  hasTextIds?: boolean;
  /** The name of a track event (its field `event`); empty or absent for other events. */
  name?: string | undefined;
  /**
   * The messageId that the SDK sent. Undefined when the SDK sent none. The server then made one,
   * which is in the event's record in the log.
   */
  messageId?: string | undefined;
  /** The members of the event that exclude destinations; undefined when it has none. */
  choice?: DestinationChoice | undefined;
  /** Whether the settings of the source forbid delivery, so that no destination gets the event. */
  isDropped?: true;
}
