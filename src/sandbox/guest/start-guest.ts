import type { GuestFrame } from "../protocol/guest-frames.ts";
import type { HostRequest } from "../protocol/guest-protocol.ts";
import { confine } from "./confinement/confine.ts";
import { sealRealm } from "./confinement/seal-realm.ts";
import type { GuestRuntime, RuntimeAnswer } from "./guest-runtime.ts";
import { receive, send, sendFrame } from "./host-channel.ts";

type RequestFrame = GuestFrame & { header: HostRequest };

/**
 * Functions that open the runtime of a language, by the name of the language. Only the code of the
 * opened runtime is loaded into a guest process.
 */
const runtimes: Readonly<Record<string, () => Promise<GuestRuntime>>> = {
  javascript: async () => (await import("./javascript/javascript-runtime.ts")).openJavascript(),
  python: async () => (await import("./python/python-runtime.ts")).openPython(),
};

/**
 * Executes the command `guest`: confines this process permanently, and answers the requests of the
 * host (the server) to run user code of one language. Resolves when the host has closed the socket,
 * or when the confinement is incomplete and the host does not allow this.
 */
export async function startGuest(language: string | undefined): Promise<void> {
  const open = runtimes[language ?? ""];
  if (!open)
    throw new RangeError(`Expected a guest language: ${Object.keys(runtimes).join(" or ")}`);
  await serve(open, sealRealm);
}

/**
 * Opens the runtime with `open`, confines the process permanently, and answers the server's
 * requests. Calls `seal` after the confinement, to disable built-ins that user code could misuse.
 */
export async function serve(open: () => Promise<GuestRuntime>, seal: () => void): Promise<void> {
  // Without this handler Bun prints every rejection that user code does not handle, and runs user
  // code to show its value; but standard error is for the runtime's own errors.
  process.on("unhandledRejection", () => {});
  const runtime = await open();
  const first = receive()?.header as HostRequest | undefined;
  if (first?.kind !== "start") return;
  const reason = await confine();
  seal();
  if (reason === undefined) send({ kind: "ready" });
  else send({ kind: first.insecure ? "ready" : "unconfined", reason });
  if (reason !== undefined && !first.insecure) return;
  for (let request = receive(); request; request = receive()) {
    const answer = await answerOf(runtime, request as RequestFrame);
    if ("frame" in answer) sendFrame(answer.frame);
    else send(answer.reply, answer.body);
  }
}

/**
 * Answers a request of the server. An error of the runtime is rethrown and ends the guest process.
 * If it is a stack overflow, the message `overflowed` is sent to the server first.
 */
async function answerOf(runtime: GuestRuntime, request: RequestFrame): Promise<RuntimeAnswer> {
  try {
    return await runtime.answer(request);
  } catch (error) {
    // CPython, compiled to WebAssembly, calls itself on the engine's stack and cannot see its end.
    const isOverflow = error instanceof RangeError && /^Maximum call stack/.test(error.message);
    if (isOverflow) send({ kind: "overflowed" });
    throw error;
  }
}
