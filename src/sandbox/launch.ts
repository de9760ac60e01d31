import type { Subprocess } from "bun";
import { GUEST_ADDRESS_KIB_MAX } from "../limits.ts";
import type { GuestLanguage } from "./program.ts";

/** A name, or the number of one that Bun has no name for. */
export type Signal = NodeJS.Signals | number | null;
export type GuestProcess = Subprocess<"pipe", "pipe", "pipe">;

/** Before the guest's first instruction: no core file, an end to its address space. */
const LIMITED = `ulimit -c 0; ulimit -v ${GUEST_ADDRESS_KIB_MAX}; exec "$0" "$@"`;

/**
 * All that a guest inherits. The JavaScriptCore options shrink what it reserves at start from
 * 6.4 to 1.3 GB, so that `ulimit -v` can be low with the JIT on, and take away what user code
 * has no use for.
 */
const environment: Readonly<Record<GuestLanguage, Record<string, string>>> = {
  javascript: {
    TZ: "UTC",
    BUN_JSC_structureHeapSizeInKB: "65536",
    BUN_JSC_jitMemoryReservationSize: "67108864",
    // Tail calls would leave the caller out of stack traces.
    BUN_JSC_useTailCalls: "0",
    BUN_JSC_useWasm: "0",
    BUN_JSC_useSharedArrayBuffer: "0",
    BUN_JSC_useShadowRealm: "0",
  },
  python: { TZ: "UTC" },
};

/** Starts a guest process: in `/`, with an environment of its own and three pipes. */
export function launch(
  command: readonly string[],
  language: GuestLanguage,
  onExit: (code: number | null, signal: Signal) => void,
): GuestProcess {
  return Bun.spawn(["/bin/sh", "-c", LIMITED, ...command, language], {
    cwd: "/",
    env: environment[language],
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    onExit: (_process, code, signal) => onExit(code, signal),
  });
}
