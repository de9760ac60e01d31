import type { Identity, Member, WorkspaceRole } from "../model.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";

/** An account at an OpenID provider, as the provider describes it at a sign-in. */
export interface ProviderAccount {
  identity: Identity;
  name: string;
  email: string;
  /** Whether the OpenID provider has checked that the email address belongs to the account. */
  isEmailVerified: boolean;
  role: WorkspaceRole;
}

/** Opens the part of the catalog that links members to accounts at an OpenID provider. */
export function openIdentities(
  store: CatalogStore,
  { members, tokens }: Pick<Tables, "members" | "tokens">,
  limits: ItemLimits,
) {
  /**
   * Returns the member that has the account's email address and is linked to no account yet.
   * Undefined when there is none, or when the provider has not verified the address.
   */
  function unlinked(workspaceId: string, account: ProviderAccount): Member | undefined {
    if (!account.isEmailVerified) return undefined;
    const email = account.email.toLowerCase();
    return Iterator.from(members.each(workspaceId)).find(
      (it) => !it.identity && it.email.toLowerCase() === email,
    );
  }

  function newMember(workspaceId: string): Member {
    limits.expectRoom(workspaceId, "members");
    return newItem(workspaceId, {
      name: "",
      email: "",
      role: "member",
      editTransformations: false,
      permissions: [],
    });
  }

  return inTransactions(store, {
    /**
     * Returns the member of an account, updated with the account's name, email address and role. An
     * account without a member is linked to the unlinked member with its verified email address, or
     * else to a new member.
     */
    admit(workspaceId: string, account: ProviderAccount) {
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
      const changed = { ...after, updatedAt: changeTime(before) };
      members.put(changed);
      return changed;
    },
    /**
     * Removes the workspace role of the member of an account that may not sign in now, and ends the
     * member's sessions from the OpenID provider. Does nothing when the account has no member.
     */
    refuse(workspaceId: string, identity: Identity) {
      const member = members.byIdentity(workspaceId, identity);
      if (member === undefined) return;
      const { workspaceRole, ...others } = member;
      if (workspaceRole !== undefined) members.put({ ...others, updatedAt: changeTime(member) });
      for (const token of tokens.ofMember(member.id)) {
        if (token.carriesSessions) tokens.remove(token);
      }
    },
  });
}
