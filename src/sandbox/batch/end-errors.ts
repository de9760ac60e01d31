import { GUEST_MEMORY_BYTES_MAX } from "../../settings/limits.ts";
import type { GuestEndCause } from "../process/guest-end.ts";
import type { UserError } from "../program.ts";

const MEMORY_MIB_MAX = GUEST_MEMORY_BYTES_MAX / (1 << 20);

const BROKE_OUT = "Script broke into its guest and was stopped";

const messages: Readonly<Record<GuestEndCause, string>> = {
  timeout: "Script execution timed out.",
  memory: `Script was stopped at its memory limit of ${MEMORY_MIB_MAX} MiB`,
  crash: "Script crashed its guest, most likely at its memory limit",
  overflow: "Script crashed its guest: its calls or its data are nested too deep",
  violation: BROKE_OUT,
  threads: BROKE_OUT,
  idle: BROKE_OUT,
  stderr: BROKE_OUT,
  retired: "Guest was stopped",
};

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
