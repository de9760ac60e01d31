import type { Revision } from "../../../src/catalog/model.ts";
import { openCatalog } from "../../../src/catalog/open.ts";
import { createLogger } from "../../../src/observe/log.ts";

/**
 * Updates a transformation and a library together, again and again, several at a time: every commit
 * stores two revisions, publishes both, moves a link, and writes its number once it is durable.
 */
const [directory, workspaceId, transformationId, libraryId, one, two] = Bun.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const catalog = await openCatalog({ directory, logger: createLogger("silent") });
const { code } = catalog;
// The number it continues from is the one that the catalog has.
let number = Number(
  code.newestRevision(workspaceId, "transformation", transformationId).revision.code,
);

async function commit(text: string): Promise<void> {
  const revisions: Revision[] = [
    code.revise(workspaceId, "transformation", transformationId, { code: text }),
    code.revise(workspaceId, "library", libraryId, { code: text }),
  ];
  const publish = revisions.map(({ kind, id, versionId }) => {
    return { kind, id, versionId, imports: kind === "transformation" ? ["lib"] : [] };
  });
  const destinationId = Number(text) % 2 ? one : two;
  const links = [{ transformationId, destinationId }];
  await code.commit(workspaceId, { revisions, publish, links, usedLibraries: [] });
  process.stdout.write(`${text} ${revisions.map(({ versionId }) => versionId).join(" ")}\n`);
}

for (;;) {
  const texts = Array.from({ length: 4 }, () => `${++number}`);
  await Promise.all(texts.map(commit));
}
