import {
  type Member,
  type Permission,
  permissions,
  type WorkspaceRole,
  workspaceRoles,
} from "../model.ts";

const viewer: readonly Permission[] = ["events:read"];

/**
 * Permissions of RudderStack's Transformations API. A member has them if its legacy role (`role`)
 * is `admin` and its flag `editTransformations` is set.
 */
const transformationsApi: readonly Permission[] = [
  "transformations:create-delete",
  "transformations:connect",
  "transformations:edit",
  "libraries:edit",
  "destinations:connect",
];

const developer: readonly Permission[] = [...viewer, ...transformationsApi];

/**
 * Permissions of each role. The roles are in ascending order: each has all permissions of the roles
 * before it.
 */
const rolePermissions: Readonly<Record<WorkspaceRole, readonly Permission[]>> = {
  viewer,
  developer,
  operator: [...developer, "events:replay"],
  admin: permissions,
};

/**
 * Returns all permissions of a member: those that are stored with it, those of its workspace role,
 * and those of its legacy role.
 */
export function permissionsOf(member: Member): Set<Permission> {
  const { role, editTransformations, workspaceRole } = member;
  const legacy = role === "admin" && editTransformations ? transformationsApi : [];
  const named = workspaceRole === undefined ? [] : rolePermissions[workspaceRole];
  return new Set([...member.permissions, ...legacy, ...named]);
}

/** Returns the role in `roles` that has the most permissions. Undefined for an empty list. */
export function highestRole(roles: readonly WorkspaceRole[]): WorkspaceRole | undefined {
  return workspaceRoles.findLast((role) => roles.includes(role));
}
