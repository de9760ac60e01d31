import { markTimed, markVersion4 } from "../event/uuid.ts";

/**
 * Creates the messageId of a pixel: the 16 random bytes of a version 4 UUID. Creating it takes 15
 * ns, less than a view into a pool of random bytes.
 */
export function createMessageId(): Uint8Array {
  return markVersion4(crypto.getRandomValues(new Uint8Array(16)));
}

/** Creates a missing messageId. `time`, in milliseconds since the epoch, becomes part of it. */
export function createTimedMessageId(time: number): Uint8Array {
  return markTimed(crypto.getRandomValues(new Uint8Array(16)), time);
}
