import type { Subprocess } from "bun";
import type { LanguageTerms } from "./languages.ts";
import type { GuestLanguage } from "./program.ts";

export type GuestProcess = Subprocess<"pipe", "pipe", "pipe">;

/** A name, or the number of one that Bun has no name for. */
export type Signal = NodeJS.Signals | number | null;

export const SHELL = "/bin/sh";

/** Starts a guest process: in `/`, with an environment of its own and three pipes. */
export function launch(
  command: readonly string[],
  language: GuestLanguage,
  terms: LanguageTerms,
  onExit: (code: number | null, signal: Signal) => void,
): GuestProcess {
  // Before the guest's first instruction: no core file, an end to its address space. When a guest
  // ends is for the host to say.
  const limited = `trap '' INT TERM HUP; ulimit -c 0; ulimit -v ${terms.addressKibMax}; exec "$0" "$@"`;
  return Bun.spawn([SHELL, "-c", limited, ...command, language], {
    cwd: "/",
    // A session of its own: Ctrl-C reaches every process of a terminal's, also one that just starts.
    detached: true,
    env: terms.environment,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    onExit: (_process, code, signal) => onExit(code, signal),
  });
}
