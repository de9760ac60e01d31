import { ApiError } from "../../errors.ts";
import { notFound } from "../code-errors.ts";
import { familyOf } from "../import-name.ts";
import type { Resource, Revision } from "../model.ts";

/**
 * The states of a transformation or library: draft, published or deleted. Each function is one
 * transition, and refuses a state that has none. Revisions are only ever added. Pure.
 */

/** (none) → draft, by its first revision. */
export function newDraft(revision: Revision): Resource {
  return {
    kind: revision.kind,
    id: revision.id,
    workspaceId: revision.workspaceId,
    language: revision.language,
    createdAt: revision.createdAt,
    newest: revision.versionId,
    deleted: false,
  };
}

/** Any state stays as it is, and has a newer revision; what is published stays published. */
export function withRevision(resource: Resource, revision: Revision): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  checkSame(resource, revision);
  // versionIds sort by creation, so of two updates at the same time the later one is the newest.
  if (revision.versionId < resource.newest) return resource;
  return { ...resource, newest: revision.versionId };
}

/** Any state → published. A deleted resource is restored by this. */
export function withPublished(resource: Resource, revision: Revision): Resource {
  checkSame(resource, revision);
  return { ...resource, published: revision.versionId, deleted: false };
}

/** Draft or published → deleted. */
export function asDeleted(resource: Resource): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  const { published: _, ...rest } = resource;
  return { ...rest, deleted: true };
}

/** Refuses to link a destination to a transformation that is not published. */
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
