import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import type { RouteDeps } from "../../deps.ts";
import { isOperators } from "../alerts/alert-facts.ts";

/**
 * Throws if the caller is a person. Persons have permissions for the console, which never shows
 * secrets.
 */
export function expectServiceToken({ memberId }: Principal, { headers }: Request): void {
  if (memberId === undefined && headers.has("authorization")) return;
  throw new ApiError("forbidden", "Expected a service token, got that of a member or a session");
}

/**
 * Whether a workspace's tokens let rudder-server and rudder-transformer read the data of all
 * workspaces. This is so for the first workspace, if the setting `rudderstack.namespace` is set.
 */
export function readsAllWorkspaces(
  deps: Pick<RouteDeps, "catalog" | "namespace">,
  workspaceId: string,
): boolean {
  return deps.namespace !== undefined && isOperators(deps, workspaceId);
}
