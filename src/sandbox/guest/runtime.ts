import type {
  InspectedReply,
  InspectRequest,
  LibraryRequest,
  LoadedReply,
  LoadRequest,
  RanReply,
  RunRequest,
} from "../protocol.ts";

/**
 * One language inside a guest. A module `guest/<language>.ts` opens it before the guest is
 * confined (a Python runtime reads its snapshot then); no user code is seen until after.
 */
export interface GuestRuntime {
  load(request: LoadRequest): Promise<LoadedReply>;
  /** `loaded` with an error when the program had to be loaded again and failed. */
  run(request: RunRequest, body: Buffer): Promise<Ran | { reply: LoadedReply }>;
  inspect(request: InspectRequest): InspectedReply;
  library(request: LibraryRequest): Promise<LoadedReply>;
}

export interface Ran {
  reply: RanReply;
  /** Outputs in input order, one line of JSON each. Sent before the next frame is received. */
  body: string | Uint8Array;
}
