import type { Catalog } from "../../catalog/catalog.ts";
import type { Permission, Principal } from "../../catalog/model.ts";
import { ApiError } from "../../errors.ts";
import { sessionSecret } from "./session-cookie.ts";

export const INVALID_TOKEN = "Invalid, expired or revoked token";

/**
 * The caller of requests to routes that need no token, such as `/health`. It has no permissions.
 */
export const anonymousPrincipal: Principal = {
  workspaceId: "",
  tokenId: "",
  permissions: new Set(),
};

/**
 * Returns the caller to whom the token in the Authorization header or, without this header, the
 * session cookie belongs. Throws `ApiError` if the credentials are missing or invalid.
 */
export function authenticate(
  { tokens, sessions }: Pick<Catalog, "tokens" | "sessions">,
  headers: Headers,
): Principal {
  const header = headers.get("authorization");
  const session = header === null ? sessionSecret(headers) : undefined;
  if (session !== undefined) {
    const principal = sessions.authenticate(session);
    if (principal) return principal;
    throw new ApiError("unauthenticated", "Session expired");
  }
  const secret = secretOf(header ?? "");
  if (secret === undefined) {
    throw new ApiError("unauthenticated", "Expected an Authorization header with a Bearer token");
  }
  const principal = tokens.authenticate(secret);
  if (!principal) throw new ApiError("unauthenticated", INVALID_TOKEN);
  return principal;
}

export function permit(principal: Principal, needed: readonly Permission[]): void {
  const lacking = needed.filter((permission) => !principal.permissions.has(permission));
  if (lacking.length > 0) {
    throw new ApiError("forbidden", `The token lacks the permission ${lacking.join(" and ")}`);
  }
}

/** Throws unless the caller has all permissions of at least one of the lists in `sets`. */
export function permitAny(principal: Principal, sets: readonly (readonly Permission[])[]): void {
  const has = (permission: Permission) => principal.permissions.has(permission);
  if (sets.some((set) => set.every(has))) return;
  const lacking = sets.map((set) => set.join(" and ")).join(" or ");
  throw new ApiError("forbidden", `The token lacks the permission ${lacking}`);
}

/** Returns the token in the Authorization header, unchecked. Undefined if there is none. */
export function sentToken(headers: Headers): string | undefined {
  return secretOf(headers.get("authorization") ?? "");
}

/**
 * Returns the token in an Authorization header, or undefined if there is none. With the scheme
 * Basic, the token is the password, or the user name if the password is empty, because
 * rudder-server sends it there.
 */
function secretOf(header: string): string | undefined {
  const [, scheme, value] = /^([A-Za-z]+) +(\S+) *$/.exec(header) ?? [];
  if (!scheme || !value) return undefined;
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return undefined;
  const credentials = Buffer.from(value, "base64").toString("utf8");
  const colon = credentials.indexOf(":");
  if (colon < 0) return undefined;
  return credentials.slice(colon + 1) || credentials.slice(0, colon);
}
