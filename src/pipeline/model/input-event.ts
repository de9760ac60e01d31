import type { LogEnd } from "../../event/record.ts";

/** An event as `event/` builds it from a record. */
export interface BuiltEvent {
  json: Uint8Array;
  /** Events with the same key keep their order. */
  user: string;
  /** Empty when the event has no userId. */
  userId: string;
  anonymousId: string;
  /** Event name of a track event, page name of a page. */
  name?: string | undefined;
}

/**
 * One event as it enters a lane. Lanes share the object; its costly fields are built once, at their
 * first use.
 */
export interface InputEvent {
  readonly messageId: string;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly event: BuiltEvent;
  /**
   * Ends of the other logs when the event was received: their records below these ends come before
   * the event.
   */
  readonly after?: readonly LogEnd[] | undefined;
}

/**
 * The value of a JSON text, or the text itself when it is not JSON: showing an event must not fail.
 */
export function parseJsonOrText(json: Uint8Array | string): unknown {
  const text = typeof json === "string" ? json : Buffer.from(json).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
