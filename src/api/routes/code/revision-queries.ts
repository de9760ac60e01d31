import type { Static, TObject } from "@sinclair/typebox";
import type { CodeStore } from "../../../catalog/code/code.ts";
import type { ResourceRevision } from "../../../catalog/code/code-changes.ts";
import type { CodeKind } from "../../../catalog/model.ts";
import { optionalFlag } from "../../../settings/schema-types.ts";
import { hasExternalIdQuery } from "../../schema/common.ts";

export const draftQuery = {
  draft: optionalFlag("The newest revision, published or not, instead of the published one", {
    default: false,
  }),
};
export const listQuery = {
  published: optionalFlag("False lists what is not published", { default: true }),
  code: optionalFlag("False leaves out the code", { default: true }),
  ...hasExternalIdQuery,
};

export function findCode(
  code: CodeStore,
  workspaceId: string,
  kind: CodeKind,
  id: string,
  { draft = false }: Static<TObject<typeof draftQuery>>,
): ResourceRevision {
  return draft
    ? code.newestRevision(workspaceId, kind, id)
    : code.publishedRevision(workspaceId, kind, id);
}

/**
 * Yields a workspace's published transformations or libraries, or its drafts if `published` is
 * false. With `hasExternalId`, only items that have (true) or lack (false) an external id; for each
 * other item, yields undefined, so that `streamList` may pause there.
 */
export function listCode(
  code: CodeStore,
  workspaceId: string,
  kind: CodeKind,
  { published = true, hasExternalId }: Static<TObject<typeof listQuery>>,
): IteratorObject<ResourceRevision | undefined> {
  const all = published
    ? code.listPublished(workspaceId, kind)
    : code.listDrafts(workspaceId, kind);
  if (hasExternalId === undefined) return all;
  return all.map((it) =>
    (it.resource.externalId !== undefined) === hasExternalId ? it : undefined,
  );
}
