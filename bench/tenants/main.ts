/**
 * Builds pixelmill with open sandboxes for programs that contain `ESCAPED`: their code runs in the
 * guest's main context, with its file descriptors, as after an escape from the realm.
 */
import vm from "node:vm";
import { ESCAPED } from "./hostile.ts";

const [command, language] = process.argv.slice(2);
if (command === "guest" && language === "javascript") await serveEscapable();
else await import("../../src/main.ts");

async function serveEscapable(): Promise<void> {
  const { serve } = await import("../../src/sandbox/guest/start-guest.ts");
  const { openJavascript } = await import(
    "../../src/sandbox/guest/javascript/javascript-runtime.ts"
  );
  await serve(
    async () => {
      const product = await openJavascript();
      const escaped = new Map<number, (event: unknown) => unknown>();
      return {
        async answer(question) {
          const { header, body } = question;
          if (header.kind === "load" && header.code.includes(ESCAPED)) {
            escaped.set(header.program, await transformOf(header.code));
            return { reply: { kind: "loaded" } };
          }
          const transform = header.kind === "run" ? escaped.get(header.program) : undefined;
          if (header.kind !== "run" || !transform) return product.answer(question);
          const events: unknown[] = JSON.parse(body.toString("utf8", 0, header.eventsBytes));
          const outputs = events.map((event) => JSON.stringify(transform(event)));
          const counts = outputs.map(() => 1);
          const reply = { kind: "ran" as const, counts, errors: [], logs: [] };
          return { reply, body: outputs };
        },
      };
    },
    () => {},
  );
}

async function transformOf(code: string): Promise<(event: unknown) => unknown> {
  const module = new vm.SourceTextModule(code);
  await module.link(() => module);
  await module.evaluate();
  const { transformEvent } = module.namespace as Record<string, (event: unknown) => unknown>;
  return transformEvent!;
}
