import { setTimeout } from "node:timers/promises";
import type { CommandOutput } from "./output.ts";

/**
 * Returns a signal that aborts when the user ends a long-running command (Ctrl-C, SIGTERM), or when
 * the program that reads the command's output has ended.
 */
export function stopSignal(output: CommandOutput): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  return AbortSignal.any([stop.signal, output.closed]);
}

/** Waits for `ms` milliseconds, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
