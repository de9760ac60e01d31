interface KeyedEvent {
  sourceId: string;
  receivedAt: number;
  messageId: string;
}

/**
 * Returns the key of an event. A messageId alone is none: an SDK chooses it, so that a source may
 * send it twice, and two sources may send the same.
 */
export function eventKey({ sourceId, receivedAt, messageId }: KeyedEvent): string {
  return `${sourceId} ${receivedAt} ${messageId}`;
}
