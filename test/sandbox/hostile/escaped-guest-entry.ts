/**
 * A guest whose realm holds nothing back: programs run in its own, main context, with `kernel`
 * for raw system calls. Everything else is the product's: the confinement, the protocol.
 */
import vm from "node:vm";
import { openKernel } from "../../../src/sandbox/guest/kernel.ts";
import { serve } from "../../../src/sandbox/guest/main.ts";
import type { GuestRuntime } from "../../../src/sandbox/guest/runtime.ts";

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
  const { openJavascript } = await import("../../../src/sandbox/guest/javascript.ts");
  const product = await openJavascript();
  Object.assign(globalThis, { kernel: openKernel() });
  const programs = new Map<number, Transform>();

  return {
    ...product,
    async load(request) {
      const module = new vm.SourceTextModule(request.code, {
        importModuleDynamically: ((specifier: string) => import(specifier)) as never,
      });
      await module.link(() => new vm.SourceTextModule(tries));
      await module.evaluate();
      const { transformEvent } = module.namespace as { transformEvent: Transform };
      programs.set(request.program, transformEvent);
      return { kind: "loaded" };
    },
    async run(request, body) {
      const [event] = JSON.parse(body.toString("utf8", 0, request.eventsBytes));
      const output = JSON.stringify(await programs.get(request.program)!(event));
      return {
        reply: { kind: "ran", counts: [1], errors: [], logs: [] },
        body: output,
      };
    },
  };
}

// Unsealed: the operating system has to hold these alone.
await serve(openEscaped, () => {});
