import {
  type Member,
  type Permission,
  permissions,
  type WorkspaceRole,
  workspaceRoles,
} from "../model.ts";

const viewer: readonly Permission[] = ["events:read"];

/**
 * The permissions of RudderStack's Transformations API. A member with `editTransformations` whose
 * legacy role is `admin` has them.
 */
const transformationsApi: readonly Permission[] = [
  "transformations:create-delete",
  "transformations:connect",
  "transformations:edit",
  "libraries:edit",
  "destinations:connect",
];

const developer: readonly Permission[] = [...viewer, ...transformationsApi];

/** Permissions of each role, ascending: a role includes those of the roles before it. */
const rolePermissions: Readonly<Record<WorkspaceRole, readonly Permission[]>> = {
  viewer,
  developer,
  operator: [...developer, "events:replay"],
  admin: permissions,
};

/**
 * Returns the permissions of a member: its own, those of its workspace role, and those of its
 * legacy role.
 */
export function permissionsOf(member: Member): Set<Permission> {
  const { role, editTransformations, workspaceRole } = member;
  const legacy = role === "admin" && editTransformations ? transformationsApi : [];
  const named = workspaceRole === undefined ? [] : rolePermissions[workspaceRole];
  return new Set([...member.permissions, ...legacy, ...named]);
}

/** Returns the role with the most permissions among the given ones. Undefined for none. */
export function highestRole(roles: readonly WorkspaceRole[]): WorkspaceRole | undefined {
  return workspaceRoles.findLast((role) => roles.includes(role));
}
