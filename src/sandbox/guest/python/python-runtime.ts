import { readFileSync } from "node:fs";
import type { HostRequest } from "../../protocol/guest-protocol.ts";
import type { GuestRuntime } from "../guest-runtime.ts";
import { receiveResults, send } from "../host-channel.ts";
import { openInterpreter } from "./interpreter.ts";
import { restore } from "./pyodide.ts";

/**
 * Number of bytes of requests and replies that a Python guest process handles between two
 * collections of JavaScript's garbage.
 */
const GUEST_PYTHON_GARBAGE_BYTES = 32 << 20;

/**
 * Opens the Python runtime of a guest process: CPython on WebAssembly (Pyodide), restored from a
 * memory snapshot. Call this before the confinement. Programs share the interpreter, but each has
 * its own standard modules (`runner/realms.py`).
 */
export async function openPython(): Promise<GuestRuntime> {
  const interpreter = await restore(readFileSync(await snapshotPath()));
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
  // CPU time and not time on the clock, since waiting for the network costs nothing.
  if (request.kind === "run") return request.cpuMs;
  return "budgetMs" in request ? request.budgetMs : undefined;
}

/**
 * Collects JavaScript's garbage. After the start, this frees 50 MB. Later it frees frames
 * (messages) that were handled: without it, the engine lets 200 MB of frames accumulate beside a
 * heap of 40 MB.
 */
const collectGarbage = () => Bun.gc(true);

/**
 * Sends one host call (call of a function that the server executes, such as `fetch`) to the server,
 * and returns its result. While the server executes the call, this process sleeps and uses no CPU
 * time.
 */
function callHost(call: string): string {
  send({ kind: "wait" }, [`[${call}]`]);
  const results = receiveResults();
  if (!results) throw new Error("The host is gone");
  return JSON.stringify(JSON.parse(results.body.toString())[0]);
}

/**
 * Returns the path of the memory snapshot. The compiled executable contains it. In a source
 * checkout, this function first makes the snapshot if its inputs have changed.
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
