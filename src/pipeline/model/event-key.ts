interface KeyedEvent {
  sourceId: string;
  receivedAt: number;
  messageId: string;
}

/**
 * Returns the key that identifies an event. A messageId alone does not, because SDKs choose it: one
 * source may send it twice, or two sources may send the same one.
 */
export function eventKey({ sourceId, receivedAt, messageId }: KeyedEvent): string {
  return `${sourceId} ${receivedAt} ${messageId}`;
}
