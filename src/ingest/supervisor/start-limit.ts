import type { Subprocess } from "bun";
import { INGEST_START_EXTENSIONS_MAX } from "../limits.ts";
import { hasProgressed, readMainThread } from "./thread-state.ts";

/**
 * Time limit in milliseconds for each of two steps of the start of an ingest process: to open its
 * log, including the wait for the log's lock; and, once the server allows it, to listen.
 */
export const INGEST_START_MS_MAX = 20_000;

/** Limits the time of each step of an ingest process's start. */
export class StartLimit {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Begins a step of the start. Kills `child` unless `end` is called within `INGEST_START_MS_MAX`.
   * If `child` has made progress, the time is extended instead, up to `extensions` times.
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
