import type { GuestFrame } from "../protocol/guest-frames.ts";
import type { GuestReply, GuestRequest } from "../protocol/guest-protocol.ts";

/**
 * One language inside a guest. A module `guest/<language>.ts` opens it before the guest is
 * confined (a Python runtime reads its snapshot then); no user code is seen until after.
 */
export interface GuestRuntime {
  /**
   * Answers a question by what `protocol.ts` says of its kind; `loaded` with an error also when a
   * program that was to be run had to be loaded again and failed. Throws for what the host never
   * asks: the guest ends.
   */
  answer(question: GuestFrame & { header: GuestRequest }): Promise<RuntimeAnswer> | RuntimeAnswer;
}

/**
 * An answer, which is sent before the next question is received. A `frame` is the whole of it, its
 * number included.
 */
export type RuntimeAnswer = ReplyWithBody | { frame: Uint8Array };

export interface ReplyWithBody {
  reply: GuestReply;
  /** Outputs in input order, one line of JSON each. */
  body?: string | Uint8Array;
}
