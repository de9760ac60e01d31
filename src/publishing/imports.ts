import type { Catalog } from "../catalog/catalog.ts";
import { type Imported, librariesFor } from "../catalog/code/closure.ts";
import { familyOf } from "../catalog/import-name.ts";
import type { Revision } from "../catalog/model.ts";
import type { Sandbox, UserError } from "../sandbox/program.ts";
import { guestLanguage } from "./program.ts";

/** Code with what it imports, and the libraries that it runs with. */
export interface Resolved {
  revision: Revision;
  imports: string[];
  libraries: Revision[];
  /** It does not parse, or imports what is not there. */
  error?: UserError;
}

/** Code as a guest read it. */
export interface Inspected {
  revision: Revision;
  imports: string[];
  error?: UserError;
}

export async function inspect(sandbox: Sandbox, revision: Revision): Promise<Inspected> {
  const inspection = await sandbox.inspect(guestLanguage(revision.language), revision.code);
  return { revision, ...inspection };
}

/** Finds the libraries of code: those of `own` first, then the published ones of its language. */
export function resolve(catalog: Catalog, code: Inspected, own: readonly Inspected[]): Resolved {
  const { revision, imports } = code;
  const find = finder(catalog, revision, own);
  const error = code.error ?? unresolved(code, find);
  const libraries = librariesFor(imports, find);
  return { revision, imports, libraries, ...(error && { error }) };
}

function finder(catalog: Catalog, { workspaceId, language }: Revision, own: readonly Inspected[]) {
  return (importName: string): Imported | undefined => {
    const here = own.find(
      ({ revision }) =>
        revision.importName === importName && familyOf(revision.language) === familyOf(language),
    );
    if (here) return here;
    const published = catalog.code.libraryByImportName(workspaceId, language, importName);
    if (published === undefined) return undefined;
    const resource = catalog.code.resource(workspaceId, "library", published.id);
    return { revision: published, imports: catalog.code.publication(resource)?.imports ?? [] };
  };
}

/** Python modules that are no libraries may be its standard ones: the guest knows those. */
function unresolved(
  { revision, imports }: Inspected,
  find: (importName: string) => Imported | undefined,
): UserError | undefined {
  if (familyOf(revision.language) === "python") return undefined;
  if (revision.kind === "library" && imports.length > 0) {
    return { message: "Error: a JavaScript library cannot import libraries" };
  }
  const missing = imports.find((name) => find(name) === undefined);
  return missing === undefined
    ? undefined
    : { message: `Error: import from ${missing} failed. Module not found.` };
}
