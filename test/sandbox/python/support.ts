import { ensureSnapshot } from "../../../src/sandbox/guest/python/snapshot.ts";
import type { SandboxOptions } from "../../../src/sandbox/guest-sandbox.ts";
import type { LogLine, Program, ProgramBatch } from "../../../src/sandbox/program.ts";
import { batch, program, shown, testSandbox } from "../support.ts";

// Making it takes 3 s of CPU: not within the time that a guest has to start.
await ensureSnapshot();

/**
 * Budgets for tests with endless loops. They are longer than JavaScript's, since a fresh
 * interpreter compiles itself while it runs the first code.
 */
export const hastyPython = { cpuMs: 700 };

/** A sandbox with Python guests. */
export function pythonSandbox(options: Partial<SandboxOptions> = {}) {
  return testSandbox({ ...options, limits: { graceMs: 500, ...options.limits } });
}

/** Lines of Python, whatever their common indentation. */
export function python(code: string, more: Partial<Program> = {}): Program {
  return program(dedent(code), { language: "python", ...more });
}

/** Takes the first line's indentation from every line. */
export function dedent(code: string): string {
  const lines = code.replace(/^\n/, "").split("\n");
  const indentation = /^ */.exec(lines[0]!)![0].length;
  return lines.map((line) => line.slice(Math.min(indentation, line.search(/\S|$/)))).join("\n");
}

/**
 * Runs a program in the guest of its workspace, and shows the outcomes and what it logs. A check
 * would start a guest of its own.
 */
export async function runLogged(
  sandbox: ReturnType<typeof pythonSandbox>,
  program: Program,
  events: ProgramBatch,
) {
  const logs: LogLine[] = [];
  const take = (lines: LogLine[]) => void logs.push(...lines);
  const outcomes = await sandbox.run(program, events, { lines: 100, chars: 10_000, take });
  return { outcomes: shown(outcomes), logs };
}

/** Runs code over events and shows the outcomes. */
export function runner(sandbox: ReturnType<typeof pythonSandbox>) {
  return async (code: string, ...events: object[]) =>
    shown(await sandbox.run(python(code), batch(...events)));
}
