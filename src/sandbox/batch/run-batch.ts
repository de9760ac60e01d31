import type { GuestSource } from "../process/guest.ts";
import type { Program, ProgramBatch } from "../program.ts";
import { BatchRun, type BatchRunOptions, type BatchRunResult } from "./batch-run.ts";

/**
 * Runs a batch in as many attempts as are needed until every event has an outcome.
 * 1. When a guest times out and names the event that it was running, this event fails, and the
 *    others run again.
 * 2. When a guest times out or dies and the event to blame is unknown, the remaining events run
 *    one at a time. An event fails when its guest dies while it runs alone. If the guest also held
 *    another program, it fails only after several deaths in a row.
 * 3. When `transformBatch` itself throws, its events also run one at a time, for at most the time
 *    of one batch. Events that have no outcome then fail with the error of `transformBatch`.
 */
export async function runBatch(
  source: GuestSource,
  program: Program,
  batch: ProgramBatch,
  options: BatchRunOptions,
): Promise<BatchRunResult> {
  const run = new BatchRun(program, batch, options);
  while (run.hasWork) {
    const error = await run.attempt(source);
    if (error) return { error, ...run.finish(error) };
    if (run.isFull) return run.finishPart();
  }
  return run.finish();
}
