import { ApiError } from "../errors.ts";
import { familyOf } from "./import-name.ts";
import type { Resource, Revision } from "./model.ts";
import { notFound } from "./refusals.ts";

/**
 * The states of a transformation or library (specification §3). Pure: each function is one
 * transition, and refuses what has none. A resource is a draft, published or deleted;
 * revisions only ever come to it.
 */

/** (none) → unpublished revision. */
export function begun(revision: Revision): Resource {
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

/** any → new unpublished revision; what is published stays so. */
export function revised(resource: Resource, revision: Revision): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  checkSame(resource, revision);
  // versionIds sort by creation: of two updates at once the later one is the newest.
  if (revision.versionId < resource.newest) return resource;
  return { ...resource, newest: revision.versionId };
}

/** unpublished revision → published; of a deleted resource too, which restores it. */
export function published(resource: Resource, revision: Revision): Resource {
  checkSame(resource, revision);
  return { ...resource, published: revision.versionId, deleted: false };
}

/** draft or published → deleted. */
export function removed(resource: Resource): Resource {
  if (resource.deleted) throw notFound(resource.kind);
  const { published: _, ...rest } = resource;
  return { ...rest, deleted: true };
}

/** Not connected → connected needs a published transformation. */
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
