import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { CodeStore, Found } from "../catalog/catalog.ts";
import type { Kind } from "../catalog/model.ts";

/** How code that is not published is found again: by its id, and in lists. */

export const draftQuery = {
  draft: Type.Optional(
    Type.Boolean({
      default: false,
      description: "The newest revision, published or not, instead of the published one",
    }),
  ),
};
export const listQuery = {
  published: Type.Optional(
    Type.Boolean({ default: true, description: "False lists what is not published" }),
  ),
};

export function oneOf(
  code: CodeStore,
  workspaceId: string,
  kind: Kind,
  id: string,
  { draft = false }: Static<TObject<typeof draftQuery>>,
): Found {
  return draft ? code.newest(workspaceId, kind, id) : code.published(workspaceId, kind, id);
}

export function foundOf(
  code: CodeStore,
  workspaceId: string,
  kind: Kind,
  { published = true }: Static<TObject<typeof listQuery>>,
): Generator<Found> {
  return published ? code.listPublished(workspaceId, kind) : code.listDrafts(workspaceId, kind);
}
