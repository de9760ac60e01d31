import { newId } from "../ids.ts";
import type { Member, Permission } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { expectOwnPermissions } from "./grants.ts";
import type { ItemLimits } from "./item-limits.ts";
import type { Members } from "./resources.ts";

/** Permissions of a member with the legacy role `admin` who may edit transformations. */
const legacyAdmin: readonly Permission[] = [
  "transformations:create-delete",
  "transformations:connect",
  "transformations:edit",
  "libraries:edit",
  "destinations:connect",
];

/** Returns the permissions that a member has: its own, and those that its legacy role includes. */
export function permissionsOf(member: Member): Set<Permission> {
  const legacy = member.role === "admin" && member.editTransformations ? legacyAdmin : [];
  return new Set([...member.permissions, ...legacy]);
}

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
        const after: Member = {
          ...before,
          name: input.name ?? before.name,
          email: input.email ?? before.email,
          role: input.role ?? before.role,
          editTransformations: input.editTransformations ?? before.editTransformations,
          permissions: input.permissions ?? before.permissions,
          updatedAt: Date.now(),
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
