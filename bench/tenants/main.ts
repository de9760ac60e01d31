/**
 * The product, but that the guests of programs with the mark below hold nothing back: their code
 * runs in the guest's own context, with its file descriptors, as after a way out of the realm.
 */
import vm from "node:vm";
import { ESCAPED } from "./hostile.ts";

const [command, language] = process.argv.slice(2);
if (command === "guest" && language === "javascript") await serveEscapable();
else await import("../../src/main.ts");

async function serveEscapable(): Promise<void> {
  const { serve } = await import("../../src/sandbox/guest/main.ts");
  const { openJavascript } = await import("../../src/sandbox/guest/javascript.ts");
  await serve(
    async () => {
      const product = await openJavascript();
      const escaped = new Map<number, (event: unknown) => unknown>();
      return {
        ...product,
        async load(request) {
          if (!request.code.includes(ESCAPED)) return product.load(request);
          const module = new vm.SourceTextModule(request.code);
          await module.link(() => module);
          await module.evaluate();
          const { transformEvent } = module.namespace as Record<
            string,
            (event: unknown) => unknown
          >;
          escaped.set(request.program, transformEvent!);
          return { kind: "loaded" };
        },
        async run(request, body) {
          const transform = escaped.get(request.program);
          if (!transform) return product.run(request, body);
          const events: unknown[] = JSON.parse(body.toString("utf8", 0, request.eventsBytes));
          const outputs = events.map((event) => JSON.stringify(transform(event)));
          const counts = outputs.map(() => 1);
          return {
            reply: { kind: "ran", counts, errors: [], logs: [] },
            body: outputs.join("\n"),
          };
        },
      };
    },
    () => {},
  );
}
