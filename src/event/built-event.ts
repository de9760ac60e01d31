import type { DestinationChoice } from "./destination-choice.ts";

/** An event as JSON for destinations and user code, and the members that delivery needs. */
export interface BuiltEvent {
  /** The event as JSON text in UTF-8, in memory that later events do not overwrite. */
  json: Uint8Array;
  /**
   * Identifies the user: the userId or, if it is blank, the anonymousId. The events of one user are
   * delivered in order.
   */
  user: string;
  /** The event's userId; empty when the event has none. */
  userId: string;
  anonymousId: string;
  /**
   * Whether `userId` and `anonymousId` are strings in the JSON, or absent. False if one of them is
   * another value, such as a number.
   */
  hasTextIds?: boolean;
  /** The name of a track event (its field `event`); empty or absent for other events. */
  name?: string | undefined;
  /**
   * The messageId of an event from an SDK: the one that the SDK sent, otherwise one from the
   * server. It is undefined for the Pixel API: `messageIdOf` takes that messageId from the event's
   * record.
   */
  messageId?: string | undefined;
  /** Members of the event that exclude some destinations; undefined when they exclude none. */
  choice?: DestinationChoice | undefined;
  /** Whether the settings of the source forbid delivery, so that no destination gets the event. */
  isDropped?: true;
}
