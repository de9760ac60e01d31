import { ApiError } from "../../errors.ts";
import { CODE_BYTES_MAX, DESCRIPTION_CHARS_MAX } from "../../settings/limits.ts";
import { newId, timeOf } from "../ids.ts";
import { familyOf, importNameOf } from "../import-name.ts";
import type { Author, CodeKind, Revision } from "../model.ts";
import { parseName } from "../name.ts";
import type { ResourceRevision, RevisionInput } from "./code-changes.ts";
import { importsOf } from "./imports.ts";

/**
 * Creates the functions that make revisions in memory, from the caller's input and the newest
 * revision of the transformation or library.
 */
export function createRevisions(
  newestRevision: (workspaceId: string, kind: CodeKind, id: string) => ResourceRevision,
) {
  return {
    /**
     * Creates the first revision of a new transformation or library in memory. `commit` stores it.
     */
    draft(workspaceId: string, kind: CodeKind, input: RevisionInput) {
      const now = Date.now();
      return revision({ kind, id: newId(now), workspaceId }, input, now);
    },
    revise(workspaceId: string, kind: CodeKind, id: string, input: Partial<RevisionInput>) {
      const { resource, revision: before } = newestRevision(workspaceId, kind, id);
      checkUnchanged(kind, before, input);
      const after: RevisionInput = {
        name: input.name ?? before.name,
        description: input.description ?? before.description,
        code: input.code ?? before.code,
        language: resource.language,
        ...(input.createdBy && { createdBy: input.createdBy }),
      };
      // A revision is always younger than the one before it, also when the clock steps back, since
      // versions are ordered by the times in their ids. The id before, whose time is never earlier
      // than `createdAt`, may be of a node or process whose clock is ahead.
      const now = Math.max(Date.now(), timeOf(before.versionId) + 1);
      return revision({ kind, id, workspaceId }, after, now);
    },
  };
}

function revision(
  of: Pick<Revision, "kind" | "id" | "workspaceId">,
  input: RevisionInput,
  now: number,
): Revision {
  const name = parseName(input.name);
  // Unpaired surrogates do not survive UTF-8. They are replaced here, so that a revision reads back
  // as it was answered.
  const description = (input.description ?? "").toWellFormed();
  const code = input.code.toWellFormed();
  check(description, code);
  return {
    ...of,
    versionId: newId(now),
    name,
    description,
    code,
    language: input.language,
    ...(of.kind === "library" && { importName: importNameFor(name) }),
    imports: importsOf(input.language, code),
    ...(input.createdBy && { createdBy: authorOf(input.createdBy) }),
    createdAt: now,
  };
}

/** Returns an author's `tokenId` and `memberId`, which are the fields that are stored. */
export function authorOf({ tokenId, memberId }: Author): Author {
  return { tokenId, ...(memberId !== undefined && { memberId }) };
}

function importNameFor(name: string): string {
  const importName = importNameOf(name);
  if (importName === "") throw invalid("/name", "Expected a name with a letter or a digit");
  return importName;
}

function checkUnchanged(kind: CodeKind, before: Revision, input: Partial<RevisionInput>): void {
  if (input.language !== undefined && familyOf(input.language) !== familyOf(before.language)) {
    throw new ApiError("invalid", "Language cannot be changed");
  }
  const renamed = input.name !== undefined && input.name.trim().toWellFormed() !== before.name;
  if (kind === "library" && renamed) {
    throw new ApiError("invalid", "Library name cannot be changed");
  }
}

function check(description: string, code: string): void {
  if (description.length > DESCRIPTION_CHARS_MAX) {
    throw invalid("/description", `Expected at most ${DESCRIPTION_CHARS_MAX} characters`);
  }
  if (Buffer.byteLength(code) > CODE_BYTES_MAX) {
    throw invalid("/code", `Expected at most ${CODE_BYTES_MAX} bytes`);
  }
}

function invalid(path: string, message: string): ApiError {
  return new ApiError("invalid", `${message} at ${path}`, [{ path, message }]);
}
