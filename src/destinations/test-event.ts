import type { OutgoingEvent } from "./destination.ts";

/**
 * Creates the event that a connection test sends. Its name and ids show the receiver that it is a
 * test.
 */
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
