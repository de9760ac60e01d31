import { openCatalog } from "../../../src/catalog/open.ts";
import { ApiError } from "../../../src/errors.ts";
import { createLogger } from "../../../src/observe/log.ts";

/** Stores big revisions, several at a time, until the disk takes no more; prints what was taken. */
const [directory, workspaceId] = Bun.argv.slice(2) as [string, string];
const catalog = await openCatalog({ directory, logger: createLogger("silent") });
const REFUSALS = 12;
let refused = 0;

async function commit(): Promise<void> {
  const input = { name: "Big", code: "x".repeat(100_000), language: "javascript" as const };
  const revision = catalog.code.draft(workspaceId, "transformation", input);
  const { kind, id, versionId } = revision;
  const publish = [{ kind, id, versionId, imports: [] }];
  try {
    await catalog.code.commit(workspaceId, {
      revisions: [revision],
      publish,
      links: [],
      usedLibraries: [],
    });
    process.stdout.write(`${versionId}\n`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.refusal !== "unavailable") throw error;
    refused += 1;
  }
}

while (refused < REFUSALS) await Promise.all([commit(), commit(), commit()]);
// Reads go on.
process.stdout.write(
  `${[...catalog.code.listPublished(workspaceId, "transformation")].length} listed`,
);
await catalog.close();
