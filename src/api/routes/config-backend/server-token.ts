import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import type { RouteDeps } from "../../deps.ts";
import { isOperators } from "../alerts/alert-facts.ts";

/**
 * Throws unless the request has a service token. The routes that call this function answer with
 * secrets, which persons (members and sessions of the console) must not read.
 */
export function expectServiceToken({ memberId }: Principal, { headers }: Request): void {
  if (memberId === undefined && headers.has("authorization")) return;
  throw new ApiError("forbidden", "Expected a service token, got that of a member or a session");
}

/**
 * Whether rudder-server and rudder-transformer can read the data of all workspaces with the tokens
 * of this workspace. True only for the first workspace, and only if the setting
 * `rudderstack.namespace` is set.
 */
export function readsAllWorkspaces(
  deps: Pick<RouteDeps, "catalog" | "namespace">,
  workspaceId: string,
): boolean {
  return deps.namespace !== undefined && isOperators(deps, workspaceId);
}
