import { defined } from "../../defined.ts";
import type { Member, Permission, WorkspaceRole } from "../model.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { expectOwnPermissions, type Grantor } from "./grants.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";
import { permissionsOf } from "./roles.ts";

export type MemberInput = Pick<Member, "name" | "email"> &
  Partial<Pick<Member, "role" | "editTransformations" | "permissions">> & {
    /** Role of the member in the workspace. `null` means no role. */
    workspaceRole?: WorkspaceRole | null;
  };

export function openMembers(store: CatalogStore, { members, tokens }: Tables, limits: ItemLimits) {
  return {
    /**
     * Creates a member. Throws when the member would have a permission that the grantor (the
     * caller) lacks.
     */
    create(workspaceId: string, input: MemberInput, grantor?: Grantor) {
      const member: Member = newItem(workspaceId, {
        name: input.name,
        email: input.email,
        role: input.role ?? "member",
        editTransformations: input.editTransformations ?? false,
        permissions: input.permissions ?? [],
        ...(input.workspaceRole && { workspaceRole: input.workspaceRole }),
      });
      expectOwnPermissions(permissionsOf(member), grantor);
      return store.change(() => {
        limits.expectRoom(workspaceId, "members");
        members.put(member);
        return member;
      });
    },
    ...inTransactions(store, {
      /**
       * Changes a member. Rejects when the member would gain a permission that the grantor (the
       * caller) lacks. With a new email address, all permissions count as gained, because the
       * address's owner can sign in as this member.
       */
      update(workspaceId: string, id: string, input: Partial<MemberInput>, grantor?: Grantor) {
        const before = members.get(workspaceId, id);
        const { workspaceRole, ...others } = before;
        const { name, email, role, editTransformations, permissions } = input;
        const named = input.workspaceRole === undefined ? workspaceRole : input.workspaceRole;
        const after: Member = {
          ...others,
          ...(named && { workspaceRole: named }),
          ...defined({ name, email, role, editTransformations, permissions }),
          updatedAt: changeTime(before),
        };
        const owned = after.email === before.email ? permissionsOf(before) : new Set<Permission>();
        expectOwnPermissions(permissionsOf(after).difference(owned), grantor);
        members.put(after);
        return after;
      },
      /** Removes a member. The member's personal tokens stop working in the same transaction. */
      remove(workspaceId: string, id: string) {
        const member = members.get(workspaceId, id);
        for (const token of tokens.ofMember(member.id)) tokens.remove(token);
        members.remove(member);
      },
    }),
    get: members.get,
    list: members.list,
  };
}
