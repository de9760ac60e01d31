import { closeSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import type { Subprocess } from "bun";
import type { GuestLanguage } from "../program.ts";
import { socketPair } from "./guest-socket.ts";
import type { LanguageProfile } from "./language-profiles.ts";

export type GuestProcess = Subprocess<number, number, "pipe">;

/** A name, or the number of one that Bun has no name for. */
export type ExitSignal = NodeJS.Signals | number | null;

export const SHELL = "/bin/sh";

/**
 * With this niceness, a guest that computes gets a third of the time that the server gets beside
 * it.
 */
const NICENESS = 5;
const NICENESS_MAX = 19;

export interface LaunchedGuest {
  process: GuestProcess;
  /**
   * The host's end of the socket that is the guest's standard input and output; the caller closes
   * it.
   */
  fd: number;
}

/** Starts a guest process: in `/`, with an environment of its own. Throws what the system says. */
export function launchGuest(
  command: readonly string[],
  language: GuestLanguage,
  terms: LanguageProfile,
  onExit: (code: number | null, signal: ExitSignal) => void,
): LaunchedGuest {
  // Before the guest's first instruction: no core file, an end to its address space. When a guest
  // ends is for the host to say.
  // A session is a group of its own to the scheduler (autogroup), with the server's share of a
  // processor. An ordinary user may change that of ten sessions a second; others keep theirs.
  const calm = `{ echo ${NICENESS} > /proc/self/autogroup; } 2> /dev/null`;
  const limited = `${calm}; trap '' INT TERM HUP; ulimit -c 0; ulimit -v ${terms.addressKibMax}; exec "$0" "$@"`;
  const [fd, guestsFd] = socketPair();
  try {
    const process = Bun.spawn([SHELL, "-c", limited, ...command, language], {
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

/** For containers and services, whose sessions are not groups of their own to the scheduler. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, Math.min(NICENESS_MAX, getPriority() + NICENESS));
  } catch {
    // The process has ended, or has this niceness already.
  }
}
