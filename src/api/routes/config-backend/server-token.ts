import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import type { RouteDeps } from "../../deps.ts";
import { isOperators } from "../alerts/alert-facts.ts";

/**
 * Throws for callers who are persons: they have permissions for the console, in which secrets are
 * never shown.
 */
export function expectServiceToken({ memberId }: Principal, { headers }: Request): void {
  if (memberId === undefined && headers.has("authorization")) return;
  throw new ApiError("forbidden", "Expected a service token, got that of a member or a session");
}

/**
 * Whether the tokens of a workspace let a rudder-server or rudder-transformer read all workspaces.
 * Only tokens of the first workspace do, and only when the settings name a namespace.
 */
export function readsAllWorkspaces(
  deps: Pick<RouteDeps, "catalog" | "namespace">,
  workspaceId: string,
): boolean {
  return deps.namespace !== undefined && isOperators(deps, workspaceId);
}
