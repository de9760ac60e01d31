import type { Subprocess } from "bun";
import { INGEST_START_EXTENSIONS_MAX } from "../limits.ts";
import { hasProgressed, readMainThread } from "./thread-state.ts";

/**
 * Milliseconds in which a started ingest process must open its log. A wait for the lock of the log
 * counts. After the server has allowed the process to listen, the process gets the same time again
 * to listen.
 */
export const INGEST_START_MS_MAX = 20_000;

/** Limits the time of each step of an ingest process's start. */
export class StartLimit {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Begins a step of the start. If the step does not end within `INGEST_START_MS_MAX`, kills the
   * process. If the process has made progress, it first gets this time again, up to `extensions`
   * times.
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
