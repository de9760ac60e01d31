/** Cause of the end of a guest, a process that runs user code. */
export type GuestEndCause =
  | "timeout" // over its CPU or wall time
  | "memory" // over its memory
  | "crash" // ended by itself
  | "overflow" // reported that its stack was full
  | "violation" // broke the protocol
  | "threads" // made more threads than its runtime does
  | "idle" // computed without a request
  | "stderr" // flooded its standard error
  | "retired"; // ended by the host, for no fault of its code

/**
 * The causes of a guest process's end that an event can be to blame for. A guest that ended for
 * another cause has no culprit among its events.
 */
export const culpritCauses: readonly GuestEndCause[] = [
  "timeout",
  "memory",
  "crash",
  "overflow",
  "violation",
  "threads",
  "stderr",
];

/** Error of a request whose guest process ended before it replied. */
export class GuestEndedError extends Error {
  override readonly name = "GuestEndedError";

  constructor(readonly end: GuestEndCause) {
    super(`Guest ended: ${end}`);
  }
}
