import type { GuestSource } from "../process/guest-source.ts";
import type { BatchRun } from "./batch-run.ts";

/**
 * Runs a batch of events until every event has an outcome, in as many attempts as this takes. Each
 * attempt runs in a guest, a process that runs user code. Returns earlier, between two attempts,
 * when `mustLeave` returns true.
 * - If the event that was running at a timeout is known, it fails if it has used up the CPU time by
 *   itself. Otherwise it runs again alone.
 * - If a guest dies or times out and the event to blame is unknown, the remaining events run one at
 *   a time. An event whose guest then dies fails; if another program was loaded in the guest too,
 *   only after several deaths in a row.
 * - If `transformBatch` throws, its events also run one at a time, for at most the time of one
 *   batch. The events that are left then fail with the error of `transformBatch`.
 */
export async function runBatch(
  source: GuestSource,
  run: BatchRun,
  mustLeave: () => boolean = () => false,
): Promise<void> {
  while (!run.isDone && !mustLeave()) await run.attempt(source);
}
