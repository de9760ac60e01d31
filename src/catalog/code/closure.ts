import type { Family } from "../import-name.ts";
import type { Revision } from "../model.ts";
import type { CodeTables } from "../tables/code-tables.ts";

/**
 * A published library with the names of the libraries that it imports itself. Only Python libraries
 * may import libraries.
 */
export interface ImportedLibrary {
  revision: Revision;
  imports: readonly string[];
}

/**
 * Returns the libraries that code needs, each once: the libraries in `imports`, the libraries that
 * these import, and so on. `find` returns undefined for a name that is not a library.
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

/**
 * Returns a function that finds a workspace's published library by import name. It finds only
 * libraries of one language family (languages that can import the same libraries).
 */
export function publishedLibraries(tables: CodeTables, workspaceId: string, family: Family) {
  return (importName: string): ImportedLibrary | undefined => {
    const id = tables.libraryNames.library(workspaceId, family, importName);
    const publication = id === undefined ? undefined : tables.publications.get(id);
    const revision = publication && tables.revisions.get(publication.versionId);
    return revision && { revision, imports: publication.imports };
  };
}

/**
 * Returns all code that imports a library in `start`, directly or through other libraries, each
 * once and direct importers first. Leaves out the libraries in `start`. `importersOf` returns an
 * empty list for code that is not a library.
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
