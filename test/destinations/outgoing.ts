import type { EventOrigin, OutgoingEvent } from "../../src/destinations/destination.ts";

/** An event of a delivery, as the pipeline hands it to a destination; bytes go as they are. */
export function outgoing(
  value: unknown,
  over: Partial<EventOrigin> = {},
  byCode = false,
): OutgoingEvent {
  const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value));
  const input = {
    messageId: crypto.randomUUID(),
    sourceId: "source",
    receivedAt: Date.now(),
    type: "track",
    ...over,
  };
  return { bytes, input, byCode };
}
