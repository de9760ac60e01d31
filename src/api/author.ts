import type { Catalog } from "../catalog/catalog.ts";
import type { Principal } from "../catalog/model.ts";
import { unlessMissing } from "../errors.ts";

/**
 * Returns the id and the name of the member or token that made a request. The name is empty if the
 * member or token was deleted.
 */
export function authorOf(
  { catalog }: { catalog: Pick<Catalog, "members" | "tokens"> },
  { workspaceId, tokenId, memberId }: Pick<Principal, "workspaceId" | "tokenId" | "memberId">,
): { id: string; name: string } {
  const found = unlessMissing(() =>
    memberId === undefined
      ? catalog.tokens.get(workspaceId, tokenId)
      : catalog.members.get(workspaceId, memberId),
  );
  return { id: memberId ?? tokenId, name: found?.name ?? "" };
}
