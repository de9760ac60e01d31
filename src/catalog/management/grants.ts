import { ApiError } from "../../errors.ts";
import { type Permission, type Principal, permissions } from "../model.ts";

/**
 * The caller that creates a token or changes a member. Absent for the operator, who may give
 * everything.
 */
export type Grantor = Pick<Principal, "tokenId" | "memberId" | "permissions"> | undefined;

/** Throws unless the grantor has each of the permissions that it gives. */
export function expectOwnPermissions(given: Iterable<Permission>, grantor: Grantor): void {
  const lacking = [...given].filter((it) => grantor && !grantor.permissions.has(it));
  if (lacking.length === 0) return;
  throw new ApiError("forbidden", `The token lacks the permission ${lacking.join(" and ")}`);
}

/**
 * Throws unless the grantor may create a personal token of a member. Such a token has each
 * permission that the member will have, so only its member and callers with all permissions may.
 */
export function expectOwnMember(memberId: string, grantor: Grantor): void {
  if (grantor === undefined || grantor.memberId === memberId) return;
  if (permissions.every((permission) => grantor.permissions.has(permission))) return;
  throw new ApiError(
    "forbidden",
    "Expected all permissions for a token of another member, which has what the member will have",
  );
}

/**
 * Returns the end of a new token, by default that of the token that creates it. Throws when the new
 * token would end later. Both ends are absent for tokens without an end.
 */
export function boundedEnd(
  end: number | undefined,
  endOfGrantor: number | undefined,
): number | undefined {
  if (endOfGrantor === undefined) return end;
  if (end === undefined || end <= endOfGrantor) return end ?? endOfGrantor;
  throw new ApiError(
    "forbidden",
    "Expected an end that is not later than that of the caller's own token",
  );
}
