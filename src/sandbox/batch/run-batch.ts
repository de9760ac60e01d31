import type { GuestSource } from "../process/guest-source.ts";
import type { BatchRun } from "./batch-run.ts";

/**
 * Runs a batch of events in as many attempts as are needed until every event has an outcome. Each
 * attempt runs in a guest, a process that runs user code.
 *
 * - When a guest times out and names the event that it was running, this event fails if it has used
 *   up the CPU time by itself. If other events ran before it, or if the machine gave the guest too
 *   little CPU, the event runs again alone. Then the other events without an outcome run.
 * - When a guest times out or dies and the event to blame is unknown, the remaining events run one
 *   at a time. An event fails when its guest dies while the event runs alone. If another program
 *   was loaded in the guest too, the event fails only after several deaths in a row.
 * - When `transformBatch` itself throws, its events also run one at a time, for at most the time of
 *   one batch. Events without an outcome at the end of this time fail with the error of
 *   `transformBatch`.
 *
 * Ends earlier, between two attempts, when `mustLeave` returns true.
 */
export async function runBatch(
  source: GuestSource,
  run: BatchRun,
  mustLeave: () => boolean = () => false,
): Promise<void> {
  while (!run.isDone && !mustLeave()) await run.attempt(source);
}
