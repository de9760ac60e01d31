import type { GuestFrame } from "../protocol/guest-frames.ts";
import type { GuestRequest } from "../protocol/guest-protocol.ts";
import { confine } from "./confinement/confine.ts";
import { sealRealm } from "./confinement/seal-realm.ts";
import type { GuestRuntime, RuntimeAnswer } from "./guest-runtime.ts";
import { receive, send, sendFrame } from "./host-channel.ts";

type Question = GuestFrame & { header: GuestRequest };

/** How each language starts. A guest loads no other language's code. */
const runtimes: Readonly<Record<string, () => Promise<GuestRuntime>>> = {
  javascript: async () => (await import("./javascript/javascript-runtime.ts")).openJavascript(),
  python: async () => (await import("./python/python-runtime.ts")).openPython(),
};

/**
 * The guest command: opens the language, confines this process for good, then answers the
 * host's questions one by one until its input ends. Resolves only then.
 */
export async function startGuest(language: string | undefined): Promise<void> {
  const open = runtimes[language ?? ""];
  if (!open)
    throw new RangeError(`Expected a guest language: ${Object.keys(runtimes).join(" or ")}`);
  await serve(open, sealRealm);
}

/** `startGuest` for a runtime of one's own. `seal` is called once the process is confined. */
export async function serve(open: () => Promise<GuestRuntime>, seal: () => void): Promise<void> {
  // Without this handler Bun prints every rejection that user code does not handle, and asks user
  // code how to show its value; but standard error is for the runtime's own words.
  process.on("unhandledRejection", () => {});
  const runtime = await open();
  const first = receive()?.header as GuestRequest | undefined;
  if (first?.kind !== "start") return;
  const reason = await confine();
  seal();
  if (reason === undefined) send({ kind: "ready" });
  else send({ kind: first.insecure ? "ready" : "unconfined", reason });
  if (reason !== undefined && !first.insecure) return;
  for (let question = receive(); question; question = receive()) {
    const answer = await answerOf(runtime, question as Question);
    if ("frame" in answer) sendFrame(answer.frame);
    else send(answer.reply, answer.body);
  }
}

/**
 * Answers a question. When the answer ends the guest, its last words tell why, which the host could
 * not know.
 */
async function answerOf(runtime: GuestRuntime, question: Question): Promise<RuntimeAnswer> {
  try {
    return await runtime.answer(question);
  } catch (error) {
    // CPython, compiled to WebAssembly, calls itself on the engine's stack and cannot see its end.
    const isOverflow = error instanceof RangeError && /^Maximum call stack/.test(error.message);
    if (isOverflow) send({ kind: "overflowed" });
    throw error;
  }
}
