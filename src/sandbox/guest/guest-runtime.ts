import type { GuestFrame } from "../protocol/guest-frames.ts";
import type { GuestReply, HostRequest } from "../protocol/guest-protocol.ts";

/**
 * Runs user code of one language inside a guest, a confined child process. The runtime is opened
 * before the guest is confined, because a Python runtime reads its snapshot from a file. User code
 * arrives only after the confinement.
 */
export interface GuestRuntime {
  /**
   * Answers a request of the host (the server) with the reply that `guest-protocol.ts` defines for
   * it. If the program of a `run` request has to be loaded again and this fails, answers `loaded`
   * with an error. Throws for an unknown kind of request.
   */
  answer(request: GuestFrame & { header: HostRequest }): Promise<RuntimeAnswer> | RuntimeAnswer;
}

/**
 * Answer to a request: either a reply with its body, or a complete encoded message (`frame`) that
 * already contains the request's number (`exchange`). A frame is valid until the runtime answers
 * the next request.
 */
export type RuntimeAnswer = ReplyWithBody | { frame: Uint8Array };

export interface ReplyWithBody {
  reply: GuestReply;
  /** Output events in the order of their input events, one line of JSON each. */
  body?: readonly string[];
}
