import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest } from "../process/guest.ts";
import type { ExchangeLimits } from "../process/guest-channel.ts";
import { GuestEndedError } from "../process/guest-end.ts";
import type { Program, UserError } from "../program.ts";
import { parseInspectReply, parseLoadReply } from "../protocol/reply-parser.ts";

/** What the code may use during the load, and what counts its CPU time. */
export type RunAccounting = Pick<ExchangeLimits, "calls" | "meter">;

/**
 * Makes a program ready in a guest and returns its number there, or the error that keeps it from
 * loading. Rejects with `GuestGone`.
 */
export async function loadProgram(
  guest: Guest,
  program: Program,
  limits: SandboxLimits,
  during: RunAccounting,
): Promise<number | UserError> {
  const known = guest.programs.get(program.id);
  if (known !== undefined) {
    // The last key is the most recently used program.
    guest.programs.delete(program.id);
    guest.programs.set(program.id, known);
    return known;
  }
  const underWay = guest.loads.get(program.id) ?? loadNew(guest, program, limits, during);
  guest.loads.set(program.id, underWay);
  try {
    return await underWay;
  } finally {
    guest.loads.delete(program.id);
  }
}

/** Whether a guest answers a question that costs nothing. */
export async function isResponsive(guest: Guest, limits: SandboxLimits): Promise<boolean> {
  const { cpuMs, wallMs } = limits;
  const allowance = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };
  try {
    await guest.request({ kind: "inspect", code: "" }, [], allowance, parseInspectReply);
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
  during: RunAccounting,
): Promise<number | UserError> {
  const number = guest.nextProgramNumber();
  const error = await guest.request(
    {
      kind: "load",
      program: number,
      name: program.name,
      code: program.code,
      libraries: program.libraries,
      credentials: program.credentials,
      drop: makeRoom(guest),
      budgetMs: limits.cpuMs,
    },
    [],
    {
      cpuMs: limits.cpuMs,
      wallMs: limits.wallMs,
      replyBytesMax: GUEST_ANSWER_BYTES_MAX,
      ...during,
    },
    parseLoadReply,
  );
  if (error) return error;
  guest.programs.set(program.id, number);
  return number;
}

/** Numbers of the programs that the guest is to forget: the least recently used. */
function makeRoom(guest: Guest): number[] {
  const drop: number[] = [];
  for (const [id, number] of guest.programs) {
    if (guest.programs.size < guest.programsMax) break;
    guest.programs.delete(id);
    drop.push(number);
  }
  return drop;
}
