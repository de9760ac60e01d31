import { readFileSync } from "node:fs";
import type { HostRequest } from "../../protocol/guest-protocol.ts";
import type { GuestRuntime } from "../guest-runtime.ts";
import { receiveResults, send } from "../host-channel.ts";
import { openInterpreter } from "./interpreter.ts";
import { type RestoredPython, restore } from "./pyodide.ts";

/**
 * Number of bytes of requests and replies after which a Python guest process collects JavaScript's
 * garbage again.
 */
const GUEST_PYTHON_GARBAGE_BYTES = 32 << 20;

/**
 * Opens the Python runtime of a guest process: CPython on WebAssembly (Pyodide), restored from a
 * memory snapshot before the process is confined. Programs share the interpreter, but each has
 * standard modules of its own (`runner/realms.py`). A failure of the interpreter ends the process.
 */
export async function openPython(): Promise<GuestRuntime> {
  const interpreter = await restored();
  interpreter.provide("runner.host_calls", "ask", callHost);
  const python = openInterpreter(interpreter);
  collectGarbage();
  let passedBytes = 0;

  return {
    answer({ header, bytes }) {
      passedBytes += 2 * bytes.length;
      if (passedBytes > GUEST_PYTHON_GARBAGE_BYTES) {
        passedBytes = 0;
        collectGarbage();
      }
      return { frame: python.ask(bytes, budgetMs(header)) };
    },
  };
}

/**
 * Returns the CPU time in ms that user code may use for a request; undefined when the request runs
 * no user code.
 */
function budgetMs(request: HostRequest): number | undefined {
  switch (request.kind) {
    case "run":
      // CPU time and not time on the clock, since waiting for the network costs nothing.
      return request.cpuMs;
    case "load":
    case "library":
      return request.budgetMs;
    default:
      return undefined;
  }
}

/**
 * Collects JavaScript's garbage. After the start, this frees 50 MB; later it frees used frames
 * (messages), of which the engine by itself lets 200 MB accumulate beside a heap of 40 MB.
 */
function collectGarbage(): void {
  Bun.gc(true);
}

/**
 * Performs one host call (`fetch` and others, which the server executes), and returns its result.
 * This process sleeps meanwhile, which costs no CPU time.
 */
function callHost(call: string): string {
  send({ kind: "wait" }, [`[${call}]`]);
  const results = receiveResults();
  if (!results) throw new Error("The host is gone");
  return JSON.stringify(JSON.parse(results.body.toString())[0]);
}

async function restored(): Promise<RestoredPython> {
  return restore(readFileSync(await snapshotPath()));
}

/**
 * Returns the path of the snapshot. The executable contains a snapshot. In a source checkout, it is
 * made when its inputs have changed.
 */
async function snapshotPath(): Promise<string> {
  if (!import.meta.path.startsWith("/$bunfs/")) {
    const { ensureSnapshot } = await import("./snapshot.ts");
    await ensureSnapshot();
  }
  const { default: path } = await import("../../../../dist/python/snapshot.zst", {
    with: { type: "file" },
  });
  return path;
}
