import { backoffMs } from "../../concurrency/backoff.ts";

/**
 * Shortest delay in milliseconds before a restart of an ingest process. Each delay is twice the one
 * before, as long as each process dies within `INGEST_STEADY_MS_MIN` after its start.
 */
const INGEST_RESTART_MS_MIN = 50;
/** Longest delay in milliseconds before a restart. */
const INGEST_RESTART_MS_MAX = 5_000;
/**
 * Lifetime in milliseconds from which an ingest process counts as steady. A steady process that
 * dies is restarted after the shortest delay.
 */
const INGEST_STEADY_MS_MIN = 10_000;

/** Chooses the delays before the restarts of one ingest process. */
export class RestartDelay {
  /** Number of processes that have died in a row after less than `INGEST_STEADY_MS_MIN`. */
  #youngDeaths = 0;

  /** Returns the delay in milliseconds before the restart of a process that lived for `livedMs`. */
  after(livedMs: number): number {
    this.#youngDeaths = livedMs < INGEST_STEADY_MS_MIN ? this.#youngDeaths + 1 : 0;
    return backoffMs(this.#youngDeaths, INGEST_RESTART_MS_MIN, INGEST_RESTART_MS_MAX);
  }
}
