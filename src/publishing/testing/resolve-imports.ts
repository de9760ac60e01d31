import type { Catalog } from "../../catalog/catalog.ts";
import { type ImportedLibrary, librariesFor } from "../../catalog/code/closure.ts";
import { familyOf } from "../../catalog/import-name.ts";
import type { Revision } from "../../catalog/model.ts";
import type { UserError } from "../../sandbox/program.ts";
import {
  isRudderstackLibrary,
  missingModuleMessage,
} from "../../sandbox/rudderstack-libraries/rudderstack-libraries.ts";
import type { ImportInspection } from "../../sandbox/sandbox.ts";
import type { TestContext } from "./test-context.ts";

/**
 * A revision of code with the import names of the modules that it imports. A sandbox process found
 * these names by parsing the code. `error` is present when the code could not be parsed.
 */
export interface InspectedCode extends ImportInspection {
  revision: Revision;
}

/**
 * A revision of code with all libraries that it needs, directly or through other libraries.
 * `unresolved` is present when an import is not allowed or names no library.
 */
export interface ResolvedCode extends InspectedCode {
  libraries: Revision[];
  unresolved?: UserError;
}

export async function inspectImports(
  context: TestContext,
  revision: Revision,
): Promise<InspectedCode> {
  const { sandbox, budget } = context;
  const { workspaceId, code } = revision;
  const language = familyOf(revision.language);
  const inspection = await sandbox.inspect(workspaceId, language, code, budget);
  // Code may import a module twice, once for its default export and once for its names.
  return { revision, ...inspection, imports: [...new Set(inspection.imports)] };
}

/**
 * Finds the libraries that code needs. Looks for each of them first among the libraries of the same
 * test run (`own`), then among the published libraries of the code's language.
 */
export function resolveImports(
  catalog: Catalog,
  code: InspectedCode,
  own: readonly InspectedCode[],
): ResolvedCode {
  const { workspaceId, language } = code.revision;
  const find = (importName: string): ImportedLibrary | undefined => {
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
  const unresolved = unresolvedOf(code, find);
  const libraries = librariesFor(code.imports, find);
  return { ...code, libraries, ...(unresolved && { unresolved }) };
}

/**
 * Returns an error if JavaScript code imports a library that does not exist, or if a JavaScript
 * library imports anything; otherwise undefined. Python code is not checked, because only the
 * interpreter knows the standard modules.
 */
function unresolvedOf(
  { revision, imports }: InspectedCode,
  find: (importName: string) => ImportedLibrary | undefined,
): UserError | undefined {
  if (familyOf(revision.language) === "python") return undefined;
  if (revision.kind === "library" && imports.length > 0) {
    const message = "A JavaScript library cannot import libraries";
    return { message, ...positionOf(imports[0]!, revision.code) };
  }
  const missing = imports.find((name) => !isRudderstackLibrary(name) && find(name) === undefined);
  return missing === undefined
    ? undefined
    : {
        message: missingModuleMessage(missing),
        ...positionOf(missing, revision.code),
      };
}

/**
 * Returns line and column (1-based) of a module name in an import statement of the code, or in a
 * comment that looks like one. Returns undefined when the name is not found.
 */
function positionOf(name: string, code: string): { line: number; column: number } | undefined {
  const match = new RegExp(`\\b(?:from|import)\\s*(?=(["'])${RegExp.escape(name)}\\1)`).exec(code);
  if (match === null) return undefined;
  const before = code.slice(0, match.index + match[0].length).split(/\r\n|[\n\r\u2028\u2029]/);
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
