import type { OutgoingEvent } from "./destination.ts";

/** Makes the event that a connection test sends; its name and ids mark it as such. */
export function testEvent(): OutgoingEvent {
  const messageId = crypto.randomUUID();
  const receivedAt = Date.now();
  const now = new Date(receivedAt).toISOString();
  const event = {
    type: "track",
    event: "Connection test",
    messageId,
    anonymousId: "connection-test",
    properties: {},
    context: {},
    originalTimestamp: now,
    sentAt: now,
    receivedAt: now,
  };
  return {
    bytes: Buffer.from(JSON.stringify(event)),
    input: { messageId, sourceId: "connection-test", receivedAt, type: "track" },
    byCode: false,
  };
}
