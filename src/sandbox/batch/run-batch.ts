import type { GuestSource } from "../process/guest.ts";
import type { Program, ProgramBatch } from "../program.ts";
import { BatchRun, type BatchRunOptions, type BatchRunResult } from "./batch-run.ts";

/**
 * Runs a batch, again and again until every event has an outcome.
 * 1. When a guest times out and names the event it was running, that event fails, and the rest run
 *    again.
 * 2. When a guest times out or dies without a known culprit, the remaining events run one at a
 *    time, each in a guest that no other program has touched; an event fails only if it ends a
 *    guest on its own.
 * 3. When `transformBatch` itself throws, its events also run one at a time, within the CPU time of
 *    one batch; those that are left then fail with the batch's error.
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
