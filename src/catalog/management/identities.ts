import { newId } from "../ids.ts";
import type { Member } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { ItemLimits } from "./item-limits.ts";
import type { Identities, ProviderAccount } from "./resources.ts";

export function openIdentities(
  store: CatalogStore,
  { members, tokens }: Pick<Tables, "members" | "tokens">,
  limits: ItemLimits,
): Identities {
  /** Returns the member with the email address of an account who has no account yet. */
  function unlinked(workspaceId: string, account: ProviderAccount): Member | undefined {
    if (!account.isEmailVerified) return undefined;
    const email = account.email.toLowerCase();
    for (let page = 1; ; page++) {
      const { items } = members.list(workspaceId, page);
      if (items.length === 0) return undefined;
      const found = items.find((it) => !it.identity && it.email.toLowerCase() === email);
      if (found) return found;
    }
  }

  function newMember(workspaceId: string): Member {
    limits.expectRoom(workspaceId, "members");
    const now = Date.now();
    return {
      id: newId(now),
      workspaceId,
      name: "",
      email: "",
      role: "member",
      editTransformations: false,
      permissions: [],
      createdAt: now,
      updatedAt: now,
    };
  }

  return {
    admit(workspaceId, account) {
      return store.change(() => {
        const known = members.byIdentity(workspaceId, account.identity);
        const before = known ?? unlinked(workspaceId, account) ?? newMember(workspaceId);
        const after: Member = {
          ...before,
          name: account.name,
          email: account.email,
          workspaceRole: account.role,
          identity: account.identity,
        };
        if (Bun.deepEquals(before, after)) return before;
        const changed = { ...after, updatedAt: Date.now() };
        members.put(changed);
        return changed;
      });
    },
    refuse(workspaceId, identity) {
      return store.change(() => {
        const member = members.byIdentity(workspaceId, identity);
        if (member === undefined) return;
        const { workspaceRole, ...others } = member;
        if (workspaceRole !== undefined) members.put({ ...others, updatedAt: Date.now() });
        for (const token of tokens.ofMember(member.id)) {
          if (token.carriesSessions) tokens.remove(token);
        }
      });
    },
  };
}
