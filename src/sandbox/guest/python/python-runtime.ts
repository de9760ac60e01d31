import { readFileSync } from "node:fs";
import type { HostRequest } from "../../protocol/guest-protocol.ts";
import type { GuestRuntime } from "../guest-runtime.ts";
import { receiveResults, send } from "../host-channel.ts";
import { openInterpreter } from "./interpreter.ts";
import { type RestoredPython, restore } from "./pyodide.ts";

/**
 * Bytes of frames that pass through a Python guest between two collections of JavaScript's garbage.
 */
const GUEST_PYTHON_GARBAGE_BYTES = 32 << 20;

/**
 * Python: CPython on WebAssembly (Pyodide), restored from a memory snapshot before the guest is
 * confined. Programs share the interpreter, each in its own realm (`runner/realms.py`); a
 * failure of the interpreter ends the guest.
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

/** CPU time that user code has for a request; undefined when the request runs none. */
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
 * Collects JavaScript's garbage: 50 MB of the start, and frames. The engine itself does not collect
 * 200 MB of frames beside a heap of 40 MB.
 */
function collectGarbage(): void {
  Bun.gc(true);
}

/**
 * Makes one host call and returns its result. This process sleeps meanwhile, which costs no CPU
 * time.
 */
function callHost(call: string): string {
  send({ kind: "wait" }, `[${call}]`);
  const results = receiveResults();
  if (!results) throw new Error("The host is gone");
  return JSON.stringify(JSON.parse(results.body.toString())[0]);
}

async function restored(): Promise<RestoredPython> {
  return restore(Bun.zstdDecompressSync(readFileSync(await snapshotPath())));
}

/** Path of the snapshot, which the executable embeds and a checkout makes when its inputs changed. */
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
