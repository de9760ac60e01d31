import { openCatalog } from "../../../src/catalog/open.ts";
import { createLogger } from "../../../src/observe/log.ts";

/** Prints the live catalog that this process sees: a JSON line whenever it changes. */
const [directory, writeKey, destinationId, secret] = Bun.argv.slice(2) as [
  string,
  string,
  string,
  string,
];
const catalog = await openCatalog({ directory, logger: createLogger("silent") });
let last = "";
for (;;) {
  const view = JSON.stringify({
    source: catalog.live.source(writeKey)?.enabled ?? null,
    lanes: catalog.live.lanes().length,
    code: catalog.live.program(destinationId)?.transformation.code ?? null,
    token: catalog.tokens.authenticate(secret) !== undefined,
  });
  if (view !== last) process.stdout.write(`${view}\n`);
  last = view;
  await new Promise((resolve) => setTimeout(resolve, 0));
}
