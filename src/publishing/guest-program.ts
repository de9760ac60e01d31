import { familyOf } from "../catalog/import-name.ts";
import type { LiveProgram } from "../catalog/live.ts";
import type { Revision } from "../catalog/model.ts";
import type { LibraryCode, Program } from "../sandbox/program.ts";

export function libraryCode(revision: Revision): LibraryCode {
  return {
    importName: revision.importName ?? "",
    versionId: revision.versionId,
    code: revision.code,
  };
}

/** Builds the program that a sandbox process runs, from a transformation and its libraries. */
export function programOf(code: ProgramCode): Program {
  const { id, workspaceId, transformation, libraries, credentials } = code;
  return {
    id,
    workspaceId,
    credentials,
    language: familyOf(transformation.language),
    name: transformation.name,
    code: transformation.code,
    libraries: libraries.map(libraryCode),
  };
}

/** Code from which a program is built: the published code of a destination, or code under test. */
type ProgramCode = Pick<
  LiveProgram,
  "id" | "workspaceId" | "transformation" | "libraries" | "credentials"
>;

/**
 * Returns the version id of the program's transformation, which is the first part of the program's
 * id.
 */
export const transformationVersionOf = (programId: string) => programId.split("+", 1)[0] ?? "";
