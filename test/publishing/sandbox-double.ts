import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { Program, ProgramOutcome, UserError } from "../../src/sandbox/program.ts";
import type { CheckReport } from "../../src/sandbox/sandbox.ts";

/**
 * A sandbox that reads marks instead of running code: `from "x"` imports, BROKEN does not load,
 * FAILS fails every event, DROPS drops
 * them, TRACKS fails other events than tracks, and so does code with a library that says so; else
 * each event comes out with the versions it ran.
 */
export interface MarkSandbox extends Sandbox {
  checked: { program: Program; events: number }[];
  inspected: string[];
  /** Runs before each check: what another request does meanwhile. */
  meanwhile: (program: Program) => Promise<void>;
}

export function markSandbox(): MarkSandbox {
  const sandbox: MarkSandbox = {
    checked: [],
    inspected: [],
    meanwhile: async () => {},
    async inspect(_workspaceId, _language, code) {
      sandbox.inspected.push(code);
      return { imports: [...code.matchAll(/from "([^"]*)"/g)].map((match) => match[1]!) };
    },
    async check(program, batch) {
      sandbox.checked.push({ program, events: batch.events.length });
      await sandbox.meanwhile(program);
      return reportOf(program, batch.events);
    },
    async checkAll(program, batches) {
      const reports = [];
      for (const batch of batches) reports.push(await sandbox.check(program, batch));
      return reports;
    },
    async checkLibrary(_workspaceId, _language, library) {
      return brokenIn(library.code);
    },
    async run() {
      throw new Error("Publishing runs nothing over live traffic");
    },
    async close() {},
  };
  return sandbox;
}

function reportOf(program: Program, events: readonly Uint8Array[]): CheckReport {
  const error = [program, ...program.libraries].map(({ code }) => brokenIn(code)).find(Boolean);
  if (error) return { error, outcomes: [], logs: [] };
  return {
    outcomes: events.map((event) => outcomeOf(program, event)),
    logs: [{ text: "Log: ran" }],
  };
}

function outcomeOf(program: Program, event: Uint8Array): ProgramOutcome {
  const marks = [program, ...program.libraries].map(({ code }) => code).join(" ");
  const { type } = JSON.parse(Buffer.from(event).toString());
  if (marks.includes("FAILS") || (marks.includes("TRACKS") && type !== "track")) {
    return { error: { message: "Error: as marked", line: 2, column: 9 } };
  }
  if (program.code.includes("DROPS")) return { events: [] };
  const libraries = program.libraries.map(({ code }) => code);
  const output = { ...JSON.parse(Buffer.from(event).toString()), libraries };
  return { events: [Buffer.from(JSON.stringify(output))] };
}

function brokenIn(code: string): UserError | undefined {
  if (!code.includes("BROKEN")) return undefined;
  return { message: "SyntaxError: as marked", line: 1, column: 3 };
}
