import type { UserError } from "../../program.ts";
import type {
  InspectReply,
  InspectRequest,
  LoadReply,
  LoadRequest,
  RunRequest,
} from "../../protocol/guest-protocol.ts";
import type { GuestRuntime, ReplyWithBody } from "../guest-runtime.ts";
import {
  compile,
  dependenciesOf,
  LoadError,
  type LoadedProgram,
  loadLibrary,
} from "./program-module.ts";
import { runEvents } from "./run-events.ts";

/**
 * Opens the JavaScript runtime of a guest process. Each program consists of ES modules in a
 * hardened context of its own. The engine, JavaScriptCore, is not modified.
 */
export async function openJavascript(): Promise<GuestRuntime> {
  const programs = new Map<number, LoadedProgram>();

  return {
    async answer({ header, body }) {
      switch (header.kind) {
        case "run":
          return run(header, body);
        case "load":
          return load(header);
        case "inspect":
          return { reply: inspect(header) };
        case "library":
          return answered(() => loadLibrary(header));
        default:
          throw new RangeError("Unknown request");
      }
    },
  };

  function load(request: LoadRequest): Promise<ReplyWithBody> {
    for (const number of request.drop) programs.delete(number);
    return answered(async () => {
      programs.set(request.program, await compile(request));
    });
  }

  async function run(request: RunRequest, body: Buffer): Promise<ReplyWithBody> {
    const program = programs.get(request.program);
    if (!program) throw new RangeError("Unknown program");
    try {
      // After a timeout the context was dropped, because its code might continue otherwise.
      program.realm ??= (await compile(program.source)).realm!;
    } catch (error) {
      return notLoaded(error);
    }
    return runEvents(program, request, body);
  }
}

function inspect({ code }: InspectRequest): InspectReply {
  try {
    return { kind: "inspected", imports: dependenciesOf(code) };
  } catch (error) {
    return { kind: "inspected", imports: [], error: faultOf(error) };
  }
}

async function answered(load: () => Promise<unknown>): Promise<ReplyWithBody> {
  try {
    await load();
    return { reply: { kind: "loaded" } };
  } catch (error) {
    return notLoaded(error);
  }
}

function notLoaded(thrown: unknown): ReplyWithBody {
  const reply: LoadReply = { kind: "loaded", error: faultOf(thrown) };
  if (thrown instanceof LoadError && thrown.usedMs !== undefined) {
    reply.usedMs = Math.round(thrown.usedMs);
  }
  return { reply };
}

/**
 * Returns the user error of a `LoadError`. Rethrows any other error, because user code did not
 * cause it.
 */
function faultOf(error: unknown): UserError {
  if (error instanceof LoadError) return error.userError;
  throw error;
}
