import { onTestFinished } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { librariesFor } from "../../src/catalog/code/closure.ts";
import type { RevisionInput } from "../../src/catalog/code/code-changes.ts";
import type { CodeKind, Revision } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { ApiError } from "../../src/errors.ts";
import { createLogger } from "../../src/observe/log.ts";
import type { CompactionBounds } from "../../src/store/ordered/log-compaction.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";

export const logger = createLogger("silent");

export async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-catalog-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A catalog in a directory of its own, closed and removed after the test. */
export async function freshCatalog(
  directory?: string,
  order?: OrderedLog,
  bounds?: CompactionBounds,
): Promise<Catalog> {
  directory ??= await freshDirectory();
  const more = { ...(order && { order }), ...(bounds && { bounds }) };
  const catalog = await openCatalog({ directory, logger, ...more });
  onTestFinished(() => catalog.close());
  return catalog;
}

export async function freshWorkspace(): Promise<{ catalog: Catalog; workspaceId: string }> {
  const catalog = await freshCatalog();
  const { id } = await catalog.workspaces.create("Acme");
  return { catalog, workspaceId: id };
}

/** How a verb was refused; fails when it was not. */
export async function refusalOf(verb: () => unknown): Promise<ApiError> {
  try {
    await verb();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("Expected a refusal, and the verb succeeded");
}

export async function store(
  catalog: Catalog,
  workspaceId: string,
  kind: CodeKind,
  input: Partial<RevisionInput> = {},
): Promise<Revision> {
  const filled = { name: "Thing", code: "", language: "javascript" as const, ...input };
  const revision = catalog.code.draft(workspaceId, kind, filled);
  await catalog.code.commit(workspaceId, {
    revisions: [revision],
    publish: [],
    links: [],
    usedLibraries: [],
  });
  return revision;
}

/** Publishes as after a check with the libraries of now. */
export function publish(catalog: Catalog, revision: Revision, imports: string[] = []) {
  const { kind, id, versionId, workspaceId, language } = revision;
  const libraries = librariesFor(imports, (importName) => {
    const library = catalog.code.libraryByImportName(workspaceId, language, importName);
    if (library === undefined) return undefined;
    const resource = catalog.code.resource(workspaceId, "library", library.id);
    return { revision: library, imports: catalog.code.publication(resource)?.imports ?? [] };
  });
  const usedLibraries = libraries.map((it) => ({ ...it, importName: it.importName ?? "" }));
  const item = { kind, id, versionId, imports };
  return catalog.code.commit(workspaceId, {
    revisions: [],
    publish: [item],
    links: [],
    usedLibraries,
  });
}

export async function destination(catalog: Catalog, workspaceId: string): Promise<string> {
  const input = { name: "Sink", type: "file", config: { path: "out.jsonl" } };
  return (await catalog.destinations.create(workspaceId, input)).id;
}
