import type { Family } from "../import-name.ts";
import type { Revision } from "../model.ts";
import type { CodeTables } from "../tables/code-tables.ts";

/** A published library with its own imports (only Python libraries have any). */
export interface ImportedLibrary {
  revision: Revision;
  imports: readonly string[];
}

/**
 * Libraries that the imports need, directly or through other libraries: each once, breadth first.
 * `find` returns undefined for a name that is no library. Pure.
 */
export function librariesFor(
  imports: readonly string[],
  find: (importName: string) => ImportedLibrary | undefined,
): Revision[] {
  const met = new Set<string>();
  const libraries: Revision[] = [];
  const names = [...imports];
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (met.has(name)) continue;
    met.add(name);
    const library = find(name);
    if (library === undefined) continue;
    libraries.push(library.revision);
    names.push(...library.imports);
  }
  return libraries;
}

/** Finds published libraries of a workspace and language. */
export function publishedLibraries(tables: CodeTables, workspaceId: string, family: Family) {
  return (importName: string): ImportedLibrary | undefined => {
    const id = tables.libraryNames.library(workspaceId, family, importName);
    const publication = id === undefined ? undefined : tables.publications.get(id);
    const revision = publication && tables.revisions.get(publication.versionId);
    return revision && { revision, imports: publication.imports };
  };
}

/**
 * Code that imports the libraries in `start`, directly or through other libraries: each once,
 * breadth first, without `start`. `importersOf` returns an empty list for code that is no library.
 * Pure.
 */
export function importersThrough<T>(
  start: readonly T[],
  importersOf: (code: T) => readonly T[],
  idOf: (code: T) => string,
): T[] {
  const met = new Set(start.map(idOf));
  const found: T[] = [];
  const left = [...start];
  for (let code = left.shift(); code !== undefined; code = left.shift()) {
    for (const importer of importersOf(code)) {
      if (met.has(idOf(importer))) continue;
      met.add(idOf(importer));
      found.push(importer);
      left.push(importer);
    }
  }
  return found;
}
