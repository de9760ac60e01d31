import { cutText, messageOf } from "../../errors.ts";
import { GUEST_START_MS_MAX } from "../guest-limits.ts";
import { GuestEndedError } from "../process/guest-end.ts";
import { type ExitSignal, SHELL } from "../process/launch-guest.ts";

/** A guest process that did not start: how it ended, and the text that it printed. */
export interface FailedGuest {
  ended: { code: number | null; signal: ExitSignal } | undefined;
  /** The guest's standard error, without control characters. */
  stderr: string;
}

/**
 * Exit codes with which a shell reports that it cannot run a program (126) or cannot find it (127).
 */
const SHELL_CANNOT_RUN = [126, 127];
const STDERR_CHARS_MAX = 300;

/**
 * Returns the reason why a guest process did not start, as the end of the sentence "Guests do not
 * start: …". `guest` is undefined when the system created no process. Pure function.
 */
export function describeStartFailure(error: unknown, guest: FailedGuest | undefined): string {
  if (!guest) return describeSpawnFailure(error);
  if (!(error instanceof GuestEndedError)) return messageOf(error);
  const seconds = GUEST_START_MS_MAX / 1_000;
  if (error.end === "timeout") return `they take over ${seconds} s of CPU time, or hang`;
  if (error.end === "violation") return "what answers is no guest of this version";
  if (error.end === "memory") return "they are over their memory at once";
  return `they ${describeEnd(guest)}${stderrOnOneLine(guest.stderr)}`;
}

function describeSpawnFailure(error: unknown): string {
  const { code, path } = error as { code?: string; path?: string };
  if (code === "ENOENT" && path === SHELL) return `${SHELL}, which starts them, is not there`;
  if (code === "EACCES" && path === SHELL) return `${SHELL}, which starts them, may not be run`;
  if (code === "ENOMEM") return "the system has no memory for another process";
  if (code === "EAGAIN") return "the system makes no more processes for this user";
  if (code === "EMFILE" || code === "ENFILE") return "no file descriptors are left";
  return `the system makes no process: ${messageOf(error)}`;
}

function describeEnd({ ended }: FailedGuest): string {
  const { code = null, signal = null } = ended ?? {};
  if (code !== null && SHELL_CANNOT_RUN.includes(code)) return `cannot be run (code ${code})`;
  if (signal === "SIGKILL") return "are killed by the system, most likely for want of memory";
  if (signal !== null) return `end with ${signal}, most likely for want of memory`;
  return code === null ? "end at once" : `end with code ${code}`;
}

/**
 * Formats a guest process's standard error as the end of a sentence: a colon, and the text on one
 * line, cut to `STDERR_CHARS_MAX` characters. Returns an empty string when the process printed
 * nothing.
 */
function stderrOnOneLine(stderr: string): string {
  const line = cutText(stderr.trim().replaceAll(/\s+/g, " "), STDERR_CHARS_MAX);
  return line === "" ? "" : `: ${line}`;
}
