/** The JSON text of an event that says of itself that it is a connection test's. */
export function testEvent(): Uint8Array {
  const messageId = crypto.randomUUID();
  const now = new Date().toISOString();
  const event = {
    ...{ type: "track", event: "Connection test", messageId, anonymousId: "connection-test" },
    ...{ properties: {}, context: {}, originalTimestamp: now, sentAt: now, receivedAt: now },
  };
  return Buffer.from(JSON.stringify(event));
}
