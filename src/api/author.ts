import type { Catalog } from "../catalog/catalog.ts";
import type { Principal } from "../catalog/model.ts";
import { unlessMissing } from "../errors.ts";

/** Returns id and name of a request's author. The name is empty if the author was deleted. */
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
