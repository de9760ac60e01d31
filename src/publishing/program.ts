import type { LiveProgram } from "../catalog/catalog.ts";
import { familyOf } from "../catalog/import-name.ts";
import type { Language, Revision } from "../catalog/model.ts";
import type { GuestLanguage, LibraryCode, Program } from "../sandbox/program.ts";

/** Languages that share libraries in the catalog share a kind of guest. */
export function guestLanguage(language: Language): GuestLanguage {
  return familyOf(language);
}

export function libraryCode(revision: Revision): LibraryCode {
  return {
    importName: revision.importName ?? "",
    versionId: revision.versionId,
    code: revision.code,
  };
}

/** What a guest runs for the live code of a destination. */
export function programOf(live: LiveProgram): Program {
  return {
    id: live.id,
    workspaceId: live.workspaceId,
    language: guestLanguage(live.transformation.language),
    name: live.transformation.name,
    code: live.transformation.code,
    libraries: live.libraries.map(libraryCode),
    credentials: live.credentials,
  };
}

/** A program's id starts with its transformation's version (catalog `live.program`). */
export const transformationVersionOf = (programId: string) => programId.split("+", 1)[0] ?? "";
