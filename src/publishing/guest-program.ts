import { familyOf } from "../catalog/import-name.ts";
import type { LiveProgram } from "../catalog/live-view.ts";
import type { Language, Revision } from "../catalog/model.ts";
import type { GuestLanguage, LibraryCode, Program } from "../sandbox/program.ts";

/**
 * Returns the language of the guest that runs code of a catalog language. All catalog languages
 * that share libraries run in the same kind of guest.
 */
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

/** Builds the program for a guest from a transformation and its libraries. */
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

/** Code of which a program is built: the published code of a destination, or code under test. */
type ProgramCode = Pick<
  LiveProgram,
  "id" | "workspaceId" | "transformation" | "libraries" | "credentials"
>;

/** Returns the versionId of the program's transformation. The id of a program begins with it. */
export const transformationVersionOf = (programId: string) => programId.split("+", 1)[0] ?? "";
