import { TokenBuckets } from "../concurrency/rate-limiter.ts";
import type { TailMessage } from "../pipeline/live-tail.ts";
import { TAIL_BYTES_PER_SECOND_MAX } from "./limits.ts";
import { isoTime } from "./schema/common.ts";

/**
 * Encodes messages of live tails (streams of a workspace's new events) as server-sent events, each
 * once for all subscribers. While a workspace's subscribers together exceed a limit of bytes per
 * second, further messages are dropped.
 */
export class TailFrames {
  /**
   * Encoded bytes of each message. Undefined for a message that no subscriber gets, because the
   * workspace had used up its bytes per second when the message came.
   */
  readonly #frames = new WeakMap<TailMessage, Uint8Array | undefined>();
  readonly #bytes: TokenBuckets;

  constructor(now?: () => number) {
    this.#bytes = new TokenBuckets({
      perSecond: TAIL_BYTES_PER_SECOND_MAX,
      ...(now && { now }),
    });
  }

  /**
   * Returns the encoded bytes of a message, or undefined if the workspace's bytes per second were
   * used up at the first call for it. Call once for each subscriber, because each call counts the
   * bytes.
   */
  frameOf(workspaceId: string, message: TailMessage): Uint8Array | undefined {
    const frame = this.#frames.getOrInsertComputed(message, () => {
      const isAdmitted = this.#bytes.waitSeconds(workspaceId) === 0;
      return isAdmitted ? encodeTailMessage(message) : undefined;
    });
    if (frame !== undefined) this.#bytes.take(workspaceId, frame.length);
    return frame;
  }
}

/** Encodes a message of a live tail (stream of new events) as a server-sent event. */
export function encodeTailMessage(message: TailMessage): Buffer {
  const { at, receivedAt, ...rest } = message;
  const times = {
    at: isoTime(at),
    ...(receivedAt !== undefined && { receivedAt: isoTime(receivedAt) }),
  };
  const data = JSON.stringify({ ...rest, ...times });
  return Buffer.from(`event: ${message.stage}\ndata: ${data}\n\n`);
}
