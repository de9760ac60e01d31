import { openCatalog } from "../../../src/catalog/open.ts";
import { createLogger } from "../../../src/observe/log.ts";

/** Makes sources, many at a time, and prints their ids. */
const [directory, workspaceId, count] = Bun.argv.slice(2) as [string, string, string];
const catalog = await openCatalog({ directory, logger: createLogger("silent") });
const names = Array.from({ length: Number(count) }, (_, index) => `Source ${index}`);
const made = await Promise.all(names.map((name) => catalog.sources.create(workspaceId, { name })));
process.stdout.write(made.map(({ id }) => id).join("\n"));
await catalog.close();
