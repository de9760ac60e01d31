import { newId } from "../ids.ts";
import type { Member } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { changeTime } from "./change-time.ts";
import { expectOwnPermissions } from "./grants.ts";
import type { ItemLimits } from "./item-limits.ts";
import type { Members } from "./resources.ts";
import { permissionsOf } from "./roles.ts";

export function openMembers(
  store: CatalogStore,
  { members, tokens }: Tables,
  limits: ItemLimits,
): Members {
  return {
    create(workspaceId, input, grantor) {
      const now = Date.now();
      const member: Member = {
        id: newId(now),
        workspaceId,
        name: input.name,
        email: input.email,
        role: input.role ?? "member",
        editTransformations: input.editTransformations ?? false,
        permissions: input.permissions ?? [],
        ...(input.workspaceRole && { workspaceRole: input.workspaceRole }),
        createdAt: now,
        updatedAt: now,
      };
      expectOwnPermissions(permissionsOf(member), grantor);
      return store.change(() => {
        limits.expectRoom(workspaceId, "members");
        members.put(member);
        return member;
      });
    },
    update(workspaceId, id, input, grantor) {
      return store.change(() => {
        const before = members.get(workspaceId, id);
        const { workspaceRole, ...others } = before;
        const named = input.workspaceRole === undefined ? workspaceRole : input.workspaceRole;
        const after: Member = {
          ...others,
          ...(named && { workspaceRole: named }),
          name: input.name ?? before.name,
          email: input.email ?? before.email,
          role: input.role ?? before.role,
          editTransformations: input.editTransformations ?? before.editTransformations,
          permissions: input.permissions ?? before.permissions,
          updatedAt: changeTime(before),
        };
        expectOwnPermissions(permissionsOf(after).difference(permissionsOf(before)), grantor);
        members.put(after);
        return after;
      });
    },
    remove(workspaceId, id) {
      return store.change(() => {
        const member = members.get(workspaceId, id);
        for (const token of tokens.ofMember(member.id)) tokens.remove(token);
        members.remove(member);
      });
    },
    get: members.get,
    list: members.list,
  };
}
