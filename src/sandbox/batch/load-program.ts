import { assert } from "../../assert.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest } from "../process/guest.ts";
import type { ExchangeLimits } from "../process/guest-channel.ts";
import { GuestEndedError } from "../process/guest-end.ts";
import type { Program } from "../program.ts";
import type { LoadFailure } from "../protocol/guest-protocol.ts";
import { parseInspectReply, parseLoadReply } from "../protocol/reply-parser.ts";
import type { AttemptBudget } from "./attempt-budget.ts";

/**
 * Functions of the server that user code may call during a request to its guest process, and the
 * meter that counts the request's CPU time.
 */
export type RunAccounting = Pick<ExchangeLimits, "hostCalls" | "meter">;

/**
 * Loads a program (user code with its libraries) into a guest process, unless it is already loaded.
 * Resolves with the program's number in the guest, or with the failure of the load. Rejects with
 * `GuestEndedError` when the guest ends.
 */
export async function loadProgram(
  guest: Guest,
  program: Program,
  { wallMs }: SandboxLimits,
  budget: AttemptBudget,
  accounting: RunAccounting,
): Promise<number | LoadFailure> {
  guest.assign(program);
  const loaded = guest.programs.get(program.id);
  if (loaded !== undefined) {
    // The last key is the most recently used program.
    guest.programs.delete(program.id);
    guest.programs.set(program.id, loaded);
    return loaded;
  }
  const load = async () => {
    const number = guest.nextProgramNumber();
    const { name, code, libraries, credentials } = program;
    const { clockMs: budgetMs, loadKillMs: cpuMs } = budget;
    const drop = evictPrograms(guest);
    const failure = await guest.request(
      { kind: "load", program: number, name, code, libraries, credentials, drop, budgetMs },
      [],
      { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...accounting },
      parseLoadReply,
    );
    if (failure) return failure;
    guest.programs.set(program.id, number);
    return number;
  };
  try {
    return await guest.loads.getOrInsertComputed(program.id, load);
  } finally {
    guest.loads.delete(program.id);
  }
}

/**
 * Unloads a program that was stopped during a run, because its state may be inconsistent. Does
 * nothing if `number`, the program's number during the run, is out of date because the program was
 * loaded again.
 */
export function unloadProgram(guest: Guest, program: Program, number: number): void {
  if (guest.programs.get(program.id) !== number) return;
  guest.programs.delete(program.id);
  guest.unloadedPrograms.push(number);
}

/** Unloads all programs of a guest process, so that the next load begins with fresh state. */
export function unloadPrograms(guest: Guest): void {
  guest.unloadedPrograms.push(...guest.programs.values());
  guest.programs.clear();
}

/** Returns whether a guest process answers a trivial request; false if the process ends instead. */
export async function isResponsive(guest: Guest, limits: SandboxLimits): Promise<boolean> {
  const { cpuMs, wallMs } = limits;
  const exchangeLimits = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };
  try {
    await guest.request({ kind: "inspect", code: "" }, [], exchangeLimits, parseInspectReply);
    return true;
  } catch (error) {
    if (!(error instanceof GuestEndedError)) throw error;
    return false;
  }
}

/**
 * Makes room in a guest process for one more program, besides those that are being loaded. Returns
 * the numbers of all programs that the guest must unload: the least recently used ones and those
 * that were unloaded earlier.
 */
function evictPrograms(guest: Guest): number[] {
  const drop = guest.unloadedPrograms.splice(0);
  const loadedMax = guest.programsMax - guest.loads.size;
  for (const [id, number] of guest.programs) {
    if (guest.programs.size < loadedMax) break;
    guest.programs.delete(id);
    drop.push(number);
  }
  assert(guest.programs.size < loadedMax, "A guest has room for the program it loads");
  return drop;
}
