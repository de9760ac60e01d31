import type { BuiltEvent } from "../../event/built-event.ts";
import type { LogEnd } from "../../event/record.ts";
import { isObject } from "../../is-object.ts";
import { parseToShow } from "../../json/parse-exact.ts";

export type { BuiltEvent } from "../../event/built-event.ts";

/**
 * A received event, before user code has run over it. The deliveries to all destinations share one
 * such object for each event. Fields that are costly to compute are computed when they are first
 * read.
 */
export interface InputEvent {
  readonly messageId: string;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly event: BuiltEvent;
  /**
   * Ends of all other event logs at the time when this event was received; undefined when there are
   * no other logs. Records before these ends are delivered first, to keep each user's events in
   * order across processes.
   */
  readonly after?: readonly LogEnd[] | undefined;
}

/** An event that was read from a log. */
export interface LogInput extends InputEvent {
  /** Sequence number of the event's record in its log. */
  readonly sequence: number;
}

/**
 * Parses JSON to display it, and keeps all digits of large integers (see `parseToShow`). Returns
 * invalid JSON as text instead of throwing, so that every event can be displayed.
 */
export function parseJsonOrText(json: Uint8Array | string): unknown {
  const text = typeof json === "string" ? json : Buffer.from(json).toString();
  try {
    return parseToShow(text);
  } catch {
    return text;
  }
}

/**
 * Parses an event that another node sent as JSON text, and keeps all digits of large integers.
 * Other values are returned unchanged, because nodes with an older release send parsed events.
 */
export function parseFromNode(event: unknown): unknown {
  return typeof event === "string" ? parseJsonOrText(event) : event;
}

/**
 * Parses the JSON of an event that user code returned, for display. Removes the members named in
 * `overrideMembers` from the event and from each object in its `integrations`, because their values
 * may be credentials.
 */
export function shownOutput(
  json: Uint8Array | string,
  overrideMembers: readonly string[],
): unknown {
  const event = parseJsonOrText(json);
  if (!isObject(event)) return event;
  const holders: unknown[] = [event, ...Object.values(event.integrations ?? {})];
  for (const holder of holders.filter(isObject)) {
    for (const name of overrideMembers) delete holder[name];
  }
  return event;
}

/** Fields of an event that identify it; see `eventKey`. */
export type EventIdentity = Pick<InputEvent, "sourceId" | "receivedAt" | "messageId">;

/**
 * Returns a key that identifies an event: its source id, time of receipt and messageId. The
 * messageId alone is not unique, because SDKs choose it.
 */
export function eventKey({ sourceId, receivedAt, messageId }: EventIdentity): string {
  return `${sourceId} ${receivedAt} ${messageId}`;
}
