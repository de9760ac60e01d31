import { GUEST_MEMORY_BYTES_MAX } from "../../settings/limits.ts";
import type { UserError } from "../program.ts";

const MEMORY_MIB_MAX = GUEST_MEMORY_BYTES_MAX / (1 << 20);

const BROKE_OUT = "Script broke into its guest and was stopped";

/**
 * The causes for which a guest process ends. For each, the error message of the events that the
 * process was running.
 */
const messages = {
  /** Over its CPU or wall time. */
  timeout: "Script execution timed out.",
  /** Over its memory. */
  memory: `Script was stopped at its memory limit of ${MEMORY_MIB_MAX} MiB`,
  /** Ended by itself. */
  crash: "Script crashed its guest, most likely at its memory limit",
  /** Reported that its stack was full. */
  overflow: "Script crashed its guest: its calls or its data are nested too deep",
  /** Broke the protocol. */
  violation: BROKE_OUT,
  /** Made more threads than its runtime does. */
  threads: BROKE_OUT,
  /** Computed without a request. */
  idle: BROKE_OUT,
  /** Flooded its standard error. */
  stderr: BROKE_OUT,
  /** Ended by the host, for no fault of its code. */
  retired: "Guest was stopped",
};

/** Reason why a guest (a process that runs user code) ended. */
export type GuestEndCause = keyof typeof messages;

/**
 * Causes for which the server suspects an event: one of the events that the guest process was
 * running made it end. After the other causes (`idle`, `retired`), no event is suspected.
 */
export const culpritCauses = (Object.keys(messages) as GuestEndCause[]).filter(
  (cause) => cause !== "idle" && cause !== "retired",
);

/** Error of a request that a guest process did not answer, because the process has ended. */
export class GuestEndedError extends Error {
  override readonly name = "GuestEndedError";

  constructor(readonly end: GuestEndCause) {
    super(`Guest ended: ${end}`);
  }
}

/**
 * Returns whether a guest process that ended for the cause `cause` was controlled by user code. An
 * intact guest never ends for such a cause.
 */
export function isBreach(cause: GuestEndCause): boolean {
  return messages[cause] === BROKE_OUT;
}

/**
 * Returns the error of an event, or of loaded code, whose guest process ended for the cause
 * `cause`.
 */
export function endError(cause: GuestEndCause): UserError {
  return { message: messages[cause] };
}

/** Error of events that did not run because the request for them has ended. */
export const notAwaited: UserError = { message: "Not run: the request has ended" };

/** Returns the error of an event that did not run because `culprits` other events were stopped. */
export function notRun(culprits: number): UserError {
  return { message: `Not run: ${culprits} other events of the request were stopped` };
}
