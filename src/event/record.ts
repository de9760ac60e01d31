/** What the event log keeps of one pixel hit; the event itself is built at fan-out. */
export interface PixelRecord {
  type: "page" | "track";
  /** Milliseconds since the epoch. */
  receivedAt: number;
  sourceId: string;
  /** Client address in text, or empty when it is not recorded. */
  clientAddress: string;
  /** 16 random bytes: the event's messageId, a version 4 UUID. */
  messageId: Uint8Array;
  /** Raw query without `?`: ASCII, as the HTTP server hands it over. */
  query: string;
}
