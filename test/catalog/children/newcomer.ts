import { openCatalog } from "../../../src/catalog/open.ts";
import { createLogger } from "../../../src/observe/log.ts";

/** Makes a token and a source, and prints their secret and write key. */
const [directory, workspaceId] = Bun.argv.slice(2) as [string, string];
const catalog = await openCatalog({ directory, logger: createLogger("silent") });
const { secret } = await catalog.tokens.create(workspaceId, { name: "new", permissions: [] });
const { writeKey } = await catalog.sources.create(workspaceId, { name: "New" });
process.stdout.write(JSON.stringify({ secret, writeKey }));
await catalog.close();
