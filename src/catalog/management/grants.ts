import { ApiError } from "../../errors.ts";
import { type Permission, type Principal, permissions } from "../model.ts";

/**
 * Caller that creates a token or changes a member. It can give only permissions that it has itself.
 * Undefined for the operator, who can give all permissions.
 */
export type Grantor = Pick<Principal, "tokenId" | "memberId" | "permissions"> | undefined;

/**
 * Returns the permissions of a caller whose stored permissions are `given`. Administrators also
 * have the permission to read the audit log of their workspace, even if it is not stored.
 */
export function effectivePermissions(given: ReadonlySet<Permission>): ReadonlySet<Permission> {
  return given.has("workspace:admin") ? new Set([...given, "audit:read"]) : given;
}

/** Throws unless the grantor (the caller) itself has all permissions in `given`. */
export function expectOwnPermissions(given: Iterable<Permission>, grantor: Grantor): void {
  const lacking = [...given].filter((it) => grantor && !grantor.permissions.has(it));
  if (lacking.length === 0) return;
  throw new ApiError("forbidden", `The token lacks the permission ${lacking.join(" and ")}`);
}

/**
 * Throws unless the grantor (the caller) is the member for whom it creates a personal token, or has
 * all permissions. Other permissions are not enough, because the token also gets permissions that
 * the member receives later.
 */
export function expectOwnMember(memberId: string, grantor: Grantor): void {
  if (grantor === undefined || grantor.memberId === memberId) return;
  if (permissions.every((permission) => grantor.permissions.has(permission))) return;
  throw new ApiError(
    "forbidden",
    "Expected all permissions for a token of another member, which also gets the member's later ones",
  );
}

/**
 * Returns the expiry time of a new token: `end` or, if that is undefined, `endOfGrantor`, the
 * expiry time of the token that creates it. Throws when `end` is later than `endOfGrantor`. An
 * undefined time means no expiry.
 */
export function boundedEnd(
  end: number | undefined,
  endOfGrantor: number | undefined,
): number | undefined {
  if (endOfGrantor === undefined) return end;
  if (end === undefined || end <= endOfGrantor) return end ?? endOfGrantor;
  throw new ApiError(
    "forbidden",
    "Expected an expiry time that is not later than that of the caller's own token",
  );
}
