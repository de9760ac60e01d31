interface KeyedEvent {
  sourceId: string;
  receivedAt: number;
  messageId: string;
}

/**
 * Returns the key that identifies an event. The messageId alone is not enough: an SDK chooses it,
 * so a source may send the same messageId twice, and two sources may send the same one.
 */
export function eventKey({ sourceId, receivedAt, messageId }: KeyedEvent): string {
  return `${sourceId} ${receivedAt} ${messageId}`;
}
