/** Why a guest is no more. */
export type GuestEndCause =
  | "timeout" // over its CPU or wall time
  | "memory" // over its memory
  | "crash" // ended by itself
  | "overflow" // said that its stack came to its end
  | "violation" // answered oddly
  | "threads" // made more threads than its runtime does
  | "idle" // computed without having been asked
  | "stderr" // flooded its standard error
  | "retired"; // ended by the host, for no fault of its code

/** The guest died before it answered. */
export class GuestEndedError extends Error {
  override readonly name = "GuestGone";

  constructor(readonly end: GuestEndCause) {
    super(`Guest is gone: ${end}`);
  }
}
