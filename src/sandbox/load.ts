import type { Guest } from "./guest.ts";
import type { Allowance } from "./guest-channel.ts";
import { GuestGone } from "./guest-end.ts";
import { GUEST_ANSWER_BYTES_MAX } from "./guest-limits.ts";
import type { SandboxLimits } from "./limits.ts";
import type { Program, UserError } from "./program.ts";
import { readInspected, readLoaded } from "./replies.ts";

/** What the code may use during the load, and what counts its CPU time. */
export type During = Pick<Allowance, "calls" | "meter">;

/**
 * Makes a program ready in a guest and returns its number there, or the error that keeps it from
 * loading. Rejects with `GuestGone`.
 */
export async function load(
  guest: Guest,
  program: Program,
  limits: SandboxLimits,
  during: During,
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
export async function isAlive(guest: Guest, limits: SandboxLimits): Promise<boolean> {
  const { cpuMs, wallMs } = limits;
  const allowance = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };
  try {
    await guest.ask({ kind: "inspect", code: "" }, [], allowance, readInspected);
    return true;
  } catch (error) {
    if (!(error instanceof GuestGone)) throw error;
    return false;
  }
}

async function loadNew(
  guest: Guest,
  program: Program,
  limits: SandboxLimits,
  during: During,
): Promise<number | UserError> {
  const number = guest.nextProgram();
  const error = await guest.ask(
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
    readLoaded,
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
