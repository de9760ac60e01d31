import type { LogLine } from "../../program.ts";
import {
  OPEN,
  type RunReply,
  type RunRequest,
  type RunStop,
} from "../../protocol/guest-protocol.ts";
import type { ReplyWithBody } from "../guest-runtime.ts";
import { settlePromises } from "./event-loop.ts";
import { type LoadedProgram, NEVER_SETTLED } from "./program-module.ts";
import { OutOfMemoryError, ScriptTimeout } from "./realm.ts";
import type { RealmRunner } from "./runner/runner-source.ts";
import { TimeBudget } from "./time-budget.ts";
import { callerIn, eventError, type ProgramFiles, shortened } from "./user-errors.ts";

/**
 * Runs a program on a batch of events. When the run stops early, the reply contains the reason as
 * `stopped`, and its `counts` (outputs per event) has `OPEN` for each event without an outcome.
 */
export async function runEvents(
  program: LoadedProgram,
  request: RunRequest,
  body: Buffer,
): Promise<ReplyWithBody> {
  const { runner } = program.realm!;
  runner.take(
    body.toString("utf8", 0, request.eventsBytes),
    body.toString("utf8", request.eventsBytes),
    request.count,
    request.logsMax,
    request.logsCharsMax,
  );
  const stopped = await spend(program, request);
  const reply: RunReply = {
    kind: "ran",
    counts: JSON.parse(runner.counts()),
    errors: shortened(
      JSON.parse(runner.faults()).map(([message, stack]: [string, string]) =>
        eventError(message, stack, program.files),
      ),
    ),
    logs: request.logsMax > 0 ? logLines(runner.logs(), program.files) : [],
  };
  if (stopped) reply.stopped = stopped;
  const outputs = Array.from({ length: request.count }, (_, index) => runner.outputsOf(index));
  return { reply, body: outputs.filter((lines) => lines !== "") };
}

function logLines(json: string, files: ProgramFiles): LogLine[] {
  return JSON.parse(json).map(([text, event, stack]: [string, number, string]) => ({
    text,
    ...(event >= 0 && { event }),
    ...callerIn(stack, files),
  }));
}

async function spend(program: LoadedProgram, request: RunRequest): Promise<RunStop | undefined> {
  const realm = program.realm!;
  const { runner } = realm;
  const budget = new TimeBudget(request.budgetMs);
  const startedAt = Date.now();
  try {
    budget.step(realm, "run");
    await settlePromises(realm, budget, () => runner.pending() === 0);
  } catch (error) {
    // The program's promises may still be about to run, so its context is not used again.
    program.realm = undefined;
    if (error instanceof OutOfMemoryError) throw error;
    if (!(error instanceof ScriptTimeout)) {
      // The error came through the runner, by built-ins that the program has replaced.
      runner.giveUp((error as Error).message);
      return undefined;
    }
    const usedMs = budget.usedCpuMs;
    const culprit = culpritOf(runner);
    if (culprit === undefined) return { reason: "timeout" };
    const isRunning = culprit === runner.current();
    if (!isRunning && request.count > 1) return { reason: "timeout", culprit };
    const clockMs = Date.now() - (isRunning ? runner.calledAt() : startedAt);
    const share = clockMs / Math.max(1, Date.now() - startedAt);
    const culpritMs = Math.round(usedMs * Math.min(1, Math.max(0, share)));
    return { reason: "timeout", culprit, culpritMs };
  }
  if (runner.full()) return { reason: "full" };
  const failure = runner.failure();
  if (failure !== "") {
    const [message, stack] = JSON.parse(failure) as [string, string];
    return { reason: "failed", error: eventError(message, stack, program.files) };
  }
  runner.giveUp(NEVER_SETTLED);
  return undefined;
}

/**
 * Returns the index of the event that used up the time: the event whose function was running, or
 * else the only event whose promise has not settled. Returns undefined when there is no such event.
 */
function culpritOf(runner: RealmRunner): number | undefined {
  if (runner.current() >= 0) return runner.current();
  const counts = JSON.parse(runner.counts()) as number[];
  const open = counts.flatMap((count, index) => (count === OPEN ? [index] : []));
  return open.length === 1 ? open[0] : undefined;
}
