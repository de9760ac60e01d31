import { assert } from "../../assert.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest } from "../process/guest.ts";
import type { ExchangeLimits } from "../process/guest-channel.ts";
import { GuestEndedError } from "../process/guest-end.ts";
import type { Program, UserError } from "../program.ts";
import { parseInspectReply, parseLoadReply } from "../protocol/reply-parser.ts";

/** The host functions that code may call during an exchange, and the meter of its CPU time. */
export type RunAccounting = Pick<ExchangeLimits, "hostCalls" | "meter">;

/**
 * Loads a program into a guest unless it is loaded. Returns its number there, or the error that
 * keeps it from loading. Rejects with `GuestEndedError`.
 */
export async function loadProgram(
  guest: Guest,
  program: Program,
  limits: SandboxLimits,
  accounting: RunAccounting,
): Promise<number | UserError> {
  guest.assign(program.workspaceId, program.language);
  const loaded = guest.programs.get(program.id);
  if (loaded !== undefined) {
    // The last key is the most recently used program.
    guest.programs.delete(program.id);
    guest.programs.set(program.id, loaded);
    return loaded;
  }
  const load = guest.loads.get(program.id) ?? loadNew(guest, program, limits, accounting);
  guest.loads.set(program.id, load);
  try {
    return await load;
  } finally {
    guest.loads.delete(program.id);
  }
}

/** Whether a guest answers a question that costs nothing. */
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

async function loadNew(
  guest: Guest,
  program: Program,
  limits: SandboxLimits,
  accounting: RunAccounting,
): Promise<number | UserError> {
  const { cpuMs, wallMs } = limits;
  const number = guest.nextProgramNumber();
  const error = await guest.request(
    {
      kind: "load",
      program: number,
      name: program.name,
      code: program.code,
      libraries: program.libraries,
      credentials: program.credentials,
      drop: evictPrograms(guest),
      budgetMs: cpuMs,
    },
    [],
    { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...accounting },
    parseLoadReply,
  );
  if (error) return error;
  guest.programs.set(program.id, number);
  return number;
}

/** Makes room for one program: numbers of the least recently used ones, which the guest forgets. */
function evictPrograms(guest: Guest): number[] {
  const drop: number[] = [];
  for (const [id, number] of guest.programs) {
    if (guest.programs.size < guest.programsMax) break;
    guest.programs.delete(id);
    drop.push(number);
  }
  assert(guest.programs.size < guest.programsMax, "A guest has room for the program it loads");
  return drop;
}
