import { GUEST_PROGRAMS_MAX } from "../guest-limits.ts";
import type { RunRequest } from "../protocol.ts";
import { compile, dependenciesOf, type LoadedProgram, LoadFailure, loadLibrary } from "./module.ts";
import { runEvents } from "./run.ts";
import type { GuestRuntime } from "./runtime.ts";

/** JavaScript: one hardened context per program, ES modules, JavaScriptCore as it is. */
export async function openJavascript(): Promise<GuestRuntime> {
  const programs = new Map<number, LoadedProgram>();

  return {
    async load(request) {
      for (const number of request.drop) programs.delete(number);
      if (programs.size >= GUEST_PROGRAMS_MAX) throw new RangeError("Too many programs");
      return answered(async () => {
        programs.set(request.program, await compile(request));
      });
    },
    async run(request, body) {
      const program = programs.get(request.program);
      if (!program) throw new RangeError("Unknown program");
      return run(program, request, body);
    },
    inspect(request) {
      try {
        return { kind: "inspected", imports: dependenciesOf(request.code) };
      } catch (error) {
        if (!(error instanceof LoadFailure)) throw error;
        return { kind: "inspected", imports: [], error: error.fault };
      }
    },
    library: (request) => answered(() => loadLibrary(request)),
  };

  async function run(program: LoadedProgram, request: RunRequest, body: Buffer) {
    try {
      // After a timeout the context is gone: what it was doing might go on otherwise.
      program.realm ??= (await compile(program.source)).realm!;
    } catch (error) {
      if (!(error instanceof LoadFailure)) throw error;
      return { reply: { kind: "loaded" as const, error: error.fault } };
    }
    return runEvents(program, request, body);
  }
}

async function answered(load: () => Promise<unknown>) {
  try {
    await load();
    return { kind: "loaded" as const };
  } catch (error) {
    if (!(error instanceof LoadFailure)) throw error;
    return { kind: "loaded" as const, error: error.fault };
  }
}
