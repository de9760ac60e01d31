const guestEndCauses = [
  "timeout", // over its CPU or wall time
  "memory", // over its memory
  "crash", // ended by itself
  "overflow", // reported that its stack was full
  "violation", // broke the protocol
  "threads", // made more threads than its runtime does
  "idle", // computed without a request
  "stderr", // flooded its standard error
  "retired", // ended by the host, for no fault of its code
] as const;

/** Reason why a guest (a process that runs user code) ended. */
export type GuestEndCause = (typeof guestEndCauses)[number];

/**
 * Causes for which the server suspects an event: one of the events that the guest process was
 * running made it end. After the other causes (`idle`, `retired`), no event is suspected.
 */
export const culpritCauses: readonly GuestEndCause[] = guestEndCauses.filter(
  (cause) => cause !== "idle" && cause !== "retired",
);

/** Error of a request that a guest process did not answer, because the process has ended. */
export class GuestEndedError extends Error {
  override readonly name = "GuestEndedError";

  constructor(readonly end: GuestEndCause) {
    super(`Guest ended: ${end}`);
  }
}
