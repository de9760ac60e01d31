import { familyOf } from "../catalog/import-name.ts";
import type { LiveProgram } from "../catalog/live-view.ts";
import type { Language, Revision } from "../catalog/model.ts";
import type { GuestLanguage, LibraryCode, Program } from "../sandbox/program.ts";

/** Languages that share libraries in the catalog run in the same kind of guest. */
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

/** The program of code and its libraries, for a guest. */
export function programOf(code: ProgramCode): Program {
  const { id, workspaceId, transformation, libraries, credentials } = code;
  return {
    id,
    workspaceId,
    credentials,
    language: guestLanguage(transformation.language),
    name: transformation.name,
    code: transformation.code,
    libraries: libraries.map(libraryCode),
  };
}

/** The live code of a destination, or code under test. */
type ProgramCode = Pick<
  LiveProgram,
  "id" | "workspaceId" | "transformation" | "libraries" | "credentials"
>;

/** The version of a program's transformation, with which the program's id begins. */
export const transformationVersionOf = (programId: string) => programId.split("+", 1)[0] ?? "";
