import type { Subprocess } from "bun";
import { INGEST_START_EXTENSIONS_MAX } from "../limits.ts";
import { hasProgressed, readMainThread } from "./thread-state.ts";

/**
 * Milliseconds in which a started ingest process must open its log, including the wait for the
 * log's lock. When the server then allows the process to listen, the process gets the same time
 * again until it listens.
 */
export const INGEST_START_MS_MAX = 20_000;

/** Limits the time of each step of an ingest process's start. */
export class StartLimit {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Begins a step of the start, and kills the process `child` if the step does not end within
   * `INGEST_START_MS_MAX`. If the process has made progress in this time, the step may take the
   * same time again, up to `extensions` times.
   */
  begin(child: Pick<Subprocess, "pid" | "kill">, extensions = INGEST_START_EXTENSIONS_MAX): void {
    this.end();
    const before = readMainThread(child.pid);
    this.#timer = setTimeout(() => {
      if (extensions > 0 && hasProgressed(before, readMainThread(child.pid))) {
        this.begin(child, extensions - 1);
      } else child.kill("SIGKILL");
    }, INGEST_START_MS_MAX);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
