import { closeSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import type { Subprocess } from "bun";
import type { GuestLanguage } from "../program.ts";
import { socketPair } from "./guest-socket.ts";
import type { LanguageProfile } from "./language-profiles.ts";

export type GuestProcess = Subprocess<number, number, "pipe">;

/**
 * Name of the signal that ended a process, or its number when Bun has no name for it; null when the
 * process was not ended by a signal.
 */
export type ExitSignal = NodeJS.Signals | number | null;

export const SHELL = "/bin/sh";

/**
 * Difference in niceness (CPU priority) between a guest process and the server. With this
 * difference, a guest gets a third as much processor time as the server while both compute on the
 * same processor.
 */
const NICENESS = 5;
const NICENESS_MAX = 19;

/**
 * Starts a guest process in the directory `/`, with only the environment variables of its language.
 * Returns it with `fd`, the server's end of the socket to it, which the caller must close. Throws
 * the system's error if the process cannot be created.
 */
export function launchGuest(
  command: readonly string[],
  language: GuestLanguage,
  terms: LanguageProfile,
  onExit: (code: number | null, signal: ExitSignal) => void,
) {
  // Set before the guest's first instruction: no core file, a limit to its address space, and no
  // end by signals that a terminal sends.
  // The kernel schedules each session as a group (autogroup) that gets as much of a processor as
  // the server. An ordinary user may lower the priority of ten sessions a second; the others keep
  // theirs.
  const lowPriority = `{ echo ${NICENESS} > /proc/self/autogroup; } 2> /dev/null`;
  const script = `${lowPriority}; trap '' INT TERM HUP; ulimit -c 0; ulimit -v ${terms.addressKibMax}; exec "$0" "$@"`;
  const [fd, guestsFd] = socketPair();
  try {
    const process = Bun.spawn([SHELL, "-c", script, ...command, language], {
      cwd: "/",
      // The guest gets a session of its own, since Ctrl-C reaches every process of a terminal's
      // session, also one that is just starting.
      detached: true,
      env: terms.environment,
      stdin: guestsFd,
      stdout: guestsFd,
      stderr: "pipe",
      onExit: (_process, code, signal) => onExit(code, signal),
    });
    lowerPriority(process.pid);
    return { process, fd };
  } catch (error) {
    closeSync(fd);
    throw error;
  } finally {
    closeSync(guestsFd);
  }
}

/**
 * Lowers the CPU priority of the process `pid`. The script of `launchGuest` lowers the priority of
 * the process's session, but this has an effect only on kernels that schedule sessions as groups.
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, Math.min(NICENESS_MAX, getPriority() + NICENESS));
  } catch {
    // The process has ended, or has this niceness already.
  }
}
