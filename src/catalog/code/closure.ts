import type { Family } from "../import-name.ts";
import type { Revision } from "../model.ts";
import type { CodeTables } from "../tables/code-tables.ts";

/**
 * A published library, and the names of the libraries that it imports. Only Python libraries may
 * import libraries.
 */
export interface ImportedLibrary {
  revision: Revision;
  imports: readonly string[];
}

/**
 * Returns the libraries that code needs, each once: the libraries in `imports`, the libraries that
 * these import, and so on. A name for which `find` returns undefined is not a library, and is
 * ignored.
 */
export function librariesFor(
  imports: readonly string[],
  find: (importName: string) => ImportedLibrary | undefined,
): Revision[] {
  const libraries: Revision[] = [];
  const names = new Set(imports);
  // A set also yields the names that are added while it is iterated.
  for (const name of names) {
    const library = find(name);
    if (library !== undefined) libraries.push(library.revision);
    for (const imported of library?.imports ?? []) names.add(imported);
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
 * Returns all code that imports a library in `start`, directly or through other libraries: each
 * importer once, direct importers first, without `start`. `importersOf` must return an empty list
 * for code that is not a library.
 */
export function importersThrough<T>(
  start: readonly T[],
  importersOf: (code: T) => readonly T[],
  idOf: (code: T) => string,
): T[] {
  const met = new Map(start.map((code) => [idOf(code), code]));
  const { size } = met;
  // A map also yields the code that is added while it is iterated.
  for (const code of met.values()) {
    for (const importer of importersOf(code)) met.getOrInsert(idOf(importer), importer);
  }
  return [...met.values()].slice(size);
}
