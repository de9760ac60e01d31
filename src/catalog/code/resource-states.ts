import { ApiError } from "../../errors.ts";
import { notFound } from "../code-errors.ts";
import { familyOf } from "../import-name.ts";
import type { Resource, Revision } from "../model.ts";

/**
 * The states of a transformation or library: draft, published or deleted. Each function makes one
 * transition, and throws when the current state does not allow it. Revisions are added and never
 * removed. The functions are pure.
 */

/**
 * Creates the state of a new transformation or library, which is a draft, from its first revision.
 */
export function newDraft({ kind, id, workspaceId, language, createdAt, versionId }: Revision) {
  return { kind, id, workspaceId, language, createdAt, newest: versionId, deleted: false };
}

/**
 * Returns `resource` with `revision` as its newest revision. Returns `resource` unchanged if it
 * already has a newer revision than `revision`. The published version stays published.
 */
export function withRevision(resource: Resource, revision: Revision): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  checkSame(resource, revision);
  // versionIds sort by creation, so of two updates at the same time the later one is the newest.
  if (revision.versionId < resource.newest) return resource;
  return { ...resource, newest: revision.versionId };
}

/**
 * Returns a copy of a transformation or library in any state, with `revision` as the published
 * revision. If the original was deleted, the copy is not.
 */
export function withPublished(resource: Resource, revision: Revision): Resource {
  checkSame(resource, revision);
  return { ...resource, published: revision.versionId, deleted: false };
}

/** Returns a transformation or library marked as deleted. Throws if it was deleted already. */
export function asDeleted(resource: Resource): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  const { published: _, ...rest } = withNote(resource, undefined);
  return { ...rest, deleted: true };
}

/**
 * Returns a transformation or library with `note` as the note of its last change. Removes the old
 * note if `note` is undefined.
 */
export function withNote({ note: _, ...rest }: Resource, note: string | undefined): Resource {
  return note === undefined ? rest : { ...rest, note };
}

/**
 * Throws unless a transformation is published. A destination can be linked only to published
 * transformations.
 */
export function checkLinkable(resource: Resource): void {
  if (resource.deleted) throw notFound(resource.kind);
  if (resource.published === undefined) {
    throw new ApiError("invalid", "Transformation is not published");
  }
}

function checkSame(resource: Resource, revision: Revision): void {
  const same =
    resource.id === revision.id &&
    resource.kind === revision.kind &&
    resource.workspaceId === revision.workspaceId;
  if (!same) throw notFound(revision.kind);
  if (familyOf(resource.language) !== familyOf(revision.language)) {
    throw new ApiError("invalid", "Language cannot be changed");
  }
}
