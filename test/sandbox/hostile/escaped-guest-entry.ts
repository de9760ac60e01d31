/**
 * A guest whose realm holds nothing back: programs run in its own, main context, with `kernel`
 * for raw system calls. Everything else is the product's: the confinement, the protocol.
 */
import vm from "node:vm";
import { openKernel } from "../../../src/sandbox/guest/confinement/kernel.ts";
import type { GuestRuntime, ReplyWithBody } from "../../../src/sandbox/guest/guest-runtime.ts";
import { serve } from "../../../src/sandbox/guest/start-guest.ts";
import type { LoadRequest, RunRequest } from "../../../src/sandbox/protocol/guest-protocol.ts";

type Transform = (event: unknown) => unknown;

/** The one module that programs may import: makes attempts and tells what any of them got. */
const tries = `export async function tries(attempts) {
  const got = [];
  for (const attempt of attempts) {
    try { got.push(String(await attempt()).slice(0, 500)) } catch {}
  }
  return { tried: attempts.length, got };
}`;

async function openEscaped(): Promise<GuestRuntime> {
  const { openJavascript } = await import(
    "../../../src/sandbox/guest/javascript/javascript-runtime.ts"
  );
  const product = await openJavascript();
  Object.assign(globalThis, { kernel: openKernel() });
  const programs = new Map<number, Transform>();

  return {
    answer(question) {
      const { header, body } = question;
      if (header.kind === "load") return load(header);
      return header.kind === "run" ? run(header, body) : product.answer(question);
    },
  };

  async function load(request: LoadRequest): Promise<ReplyWithBody> {
    const module = new vm.SourceTextModule(request.code, {
      importModuleDynamically: ((specifier: string) => import(specifier)) as never,
    });
    await module.link(() => new vm.SourceTextModule(tries));
    await module.evaluate();
    const { transformEvent } = module.namespace as { transformEvent: Transform };
    programs.set(request.program, transformEvent);
    return { reply: { kind: "loaded" } };
  }

  async function run(request: RunRequest, bytes: Buffer): Promise<ReplyWithBody> {
    const [event] = JSON.parse(bytes.toString("utf8", 0, request.eventsBytes));
    const body = JSON.stringify(await programs.get(request.program)!(event));
    return { reply: { kind: "ran", counts: [1], errors: [], logs: [] }, body: [body] };
  }
}

// Unsealed: the operating system has to hold these alone.
await serve(openEscaped, () => {});
