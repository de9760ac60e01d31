import type { GuestFrame } from "../protocol/guest-frames.ts";
import type { GuestReply, HostRequest } from "../protocol/guest-protocol.ts";

/**
 * One language inside a guest. A module `guest/<language>.ts` opens it before the guest is
 * confined (a Python runtime reads its snapshot then); no user code is seen until after.
 */
export interface GuestRuntime {
  /**
   * Answers a request as `guest-protocol.ts` defines for its kind; `loaded` with an error also when
   * a program that was to run had to be loaded again and failed. Throws for a request that the host
   * never sends: the guest ends.
   */
  answer(request: GuestFrame & { header: HostRequest }): Promise<RuntimeAnswer> | RuntimeAnswer;
}

/**
 * An answer, which is sent before the next request is received. A `frame` is a complete one, with
 * its number.
 */
export type RuntimeAnswer = ReplyWithBody | { frame: Uint8Array };

export interface ReplyWithBody {
  reply: GuestReply;
  /** Outputs in input order, one line of JSON each. */
  body?: string | Uint8Array;
}
