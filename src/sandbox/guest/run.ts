import type { LogLine } from "../program.ts";
import { OPEN, type RanReply, type RunRequest, type Stop } from "../protocol.ts";
import { Budget } from "./budget.ts";
import { cpuTimeMs, recentCpuTimeMs } from "./cpu-time.ts";
import { callerIn, eventError, type Files, shortened } from "./errors.ts";
import type { Harness } from "./harness/harness.ts";
import { type LoadedProgram, NEVER_SETTLED } from "./module.ts";
import { OutOfMemory, TimedOut } from "./realm.ts";
import type { Said } from "./runtime.ts";
import { goOn } from "./turns.ts";

/**
 * Share of its CPU budget that a batch must have used before a timeout counts as the code's own.
 */
const BUSY_SHARE_MIN = 0.75;

/** Runs a program over a batch. `stopped` says why events were left `OPEN`. */
export async function runEvents(
  program: LoadedProgram,
  request: RunRequest,
  body: Buffer,
): Promise<Said> {
  const { harness } = program.realm!;
  harness.take(
    body.toString("utf8", 0, request.eventsBytes),
    body.toString("utf8", request.eventsBytes),
    request.count,
    request.logsMax,
    request.logsCharsMax,
  );
  const stopped = await spend(program, request);
  const reply: RanReply = {
    kind: "ran",
    counts: JSON.parse(harness.counts()),
    errors: shortened(
      JSON.parse(harness.faults()).map(([message, stack]: [string, string]) =>
        eventError(message, stack, program.files),
      ),
    ),
    logs: request.logsMax > 0 ? logLines(harness.logs(), program.files) : [],
  };
  if (stopped) reply.stopped = stopped;
  return { reply, body: harness.outputs() };
}

function logLines(json: string, files: Files): LogLine[] {
  return JSON.parse(json).map(([text, event, stack]: [string, number, string]) => ({
    text,
    ...(event >= 0 && { event }),
    ...callerIn(stack, files),
  }));
}

async function spend(program: LoadedProgram, request: RunRequest): Promise<Stop | undefined> {
  const { budgetMs, cpuMs } = request;
  const realm = program.realm!;
  const { harness } = realm;
  const budget = new Budget(budgetMs);
  const cpuBeforeMs = recentCpuTimeMs();
  try {
    budget.step(realm, "run");
    await goOn(realm, budget, () => harness.pending() === 0);
  } catch (error) {
    // The program's promises may still be about to run, so its context is not used again.
    program.realm = undefined;
    if (error instanceof OutOfMemory) throw error;
    if (!(error instanceof TimedOut)) {
      // The error came through the harness, by built-ins that the program has replaced.
      harness.giveUp((error as Error).message);
      return undefined;
    }
    const starved = cpuTimeMs() - cpuBeforeMs < BUSY_SHARE_MIN * cpuMs;
    const reason = starved ? "starved" : "timeout";
    const culprit = blamed(harness);
    return culprit === undefined ? { reason } : { reason, culprit };
  }
  if (harness.full()) return { reason: "full" };
  const failure = harness.failure();
  if (failure !== "") {
    const [message, stack] = JSON.parse(failure) as [string, string];
    return { reason: "failed", error: eventError(message, stack, program.files) };
  }
  harness.giveUp(NEVER_SETTLED);
  return undefined;
}

/**
 * The event to blame: the one whose function was running; among promises, the only one that has not
 * settled.
 */
function blamed(harness: Harness): number | undefined {
  if (harness.current() >= 0) return harness.current();
  const counts = JSON.parse(harness.counts()) as number[];
  const open = counts.flatMap((count, index) => (count === OPEN ? [index] : []));
  return open.length === 1 ? open[0] : undefined;
}
