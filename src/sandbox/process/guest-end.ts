import { GUEST_MEMORY_BYTES_MAX } from "../../settings/limits.ts";
import type { UserError } from "../program.ts";

const MEMORY_MIB_MAX = GUEST_MEMORY_BYTES_MAX / (1 << 20);

const BROKE_OUT = "Script broke into its guest and was stopped";

/**
 * Error messages for the events that a guest process was running when it ended. The key is the
 * cause of the end.
 */
const messages = {
  /** The guest exceeded its limit of CPU time or wall-clock time. */
  timeout: "Script execution timed out.",
  /** The guest exceeded its memory limit. */
  memory: `Script was stopped at its memory limit of ${MEMORY_MIB_MAX} MiB`,
  /** The guest process died, or closed its socket, without being killed by the server. */
  crash: "Script crashed its guest, most likely at its memory limit",
  /** The guest reported that its stack had overflowed. */
  overflow: "Script crashed its guest: its calls or its data are nested too deep",
  /** The guest violated the protocol. */
  violation: BROKE_OUT,
  /** The guest had more threads than its language runtime ever starts. */
  threads: BROKE_OUT,
  /** The guest used too much CPU time while it had no request. */
  idle: BROKE_OUT,
  /** The guest wrote too much to its standard error. */
  stderr: BROKE_OUT,
  /** The server ended the guest for a reason of its own, not because of user code. */
  retired: "Guest was stopped",
};

/** Reason why a guest (a process that runs user code) ended. */
export type GuestEndCause = keyof typeof messages;

/**
 * Causes of a guest's end for which one of the events that the guest was running is blamed: all
 * except `idle` and `retired`.
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
 * Returns whether `cause` proves that user code had taken control of the guest process. A guest
 * process that user code does not control never ends for such a cause.
 */
export function isBreach(cause: GuestEndCause): boolean {
  return messages[cause] === BROKE_OUT;
}

/**
 * Returns the error that a user sees when a guest process ended for `cause` while it ran his event
 * or loaded his code.
 */
export function endError(cause: GuestEndCause): UserError {
  return { message: messages[cause] };
}

/** Error of an event that did not run, because the caller has stopped waiting for the results. */
export const notAwaited: UserError = { message: "Not run: the request has ended" };

/**
 * Returns the error of an event that did not run because other events of the request had been
 * stopped. `culprits` is the number of these other events.
 */
export function notRun(culprits: number): UserError {
  return { message: `Not run: ${culprits} other events of the request were stopped` };
}
