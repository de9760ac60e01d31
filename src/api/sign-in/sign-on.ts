import type { WorkspaceRole } from "../../catalog/model.ts";
import { StartError } from "../../errors.ts";
import { readSmallFile } from "../../settings/files/small-file.ts";
import type { Config } from "../../settings/keys.ts";
import { TLS_FILE_BYTES_MAX } from "../../settings/limits.ts";
import { OpenIdProvider } from "./openid-provider.ts";

/**
 * Single sign-on: the provider, the workspace that its accounts join, and how long sessions last.
 */
export type SignOn = NonNullable<ReturnType<typeof openSignOn>>;

/**
 * Returns the single sign-on that the settings describe, or undefined when they name no OpenID
 * provider. Throws `StartError` when the settings contradict each other.
 */
export function openSignOn(config: Config) {
  const issuer = config["oidc.issuer"];
  const clientId = config["oidc.client.id"];
  const clientSecret = config["oidc.client.secret"];
  const path = config["oidc.ca"];
  if (issuer === undefined) {
    if (clientId === undefined && clientSecret === undefined) return undefined;
    throw new StartError("Settings oidc.client.id and oidc.client.secret need oidc.issuer");
  }
  const consoleUrl = config["admin.url"];
  if (clientId === undefined || consoleUrl === undefined) {
    throw new StartError("Setting oidc.issuer needs oidc.client.id and admin.url");
  }
  const roles = config["oidc.roles"].map(groupRole);
  if (roles.length === 0) {
    throw new StartError(
      "Setting oidc.issuer needs oidc.roles: an account without a role may not sign in",
    );
  }
  const ca = path === undefined ? undefined : readSmallFile("oidc.ca", path, TLS_FILE_BYTES_MAX);
  const provider = new OpenIdProvider({
    issuer,
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    scopes: config["oidc.scopes"],
    groupsClaim: config["oidc.groups.claim"],
    roles,
    consoleUrl,
    ...(ca !== undefined && { ca }),
  });
  return {
    provider,
    /** Name of the provider on the sign-in button of the console. */
    name: config["oidc.name"],
    /** Id of the workspace that accounts join as members. Undefined means the oldest workspace. */
    workspaceId: config["oidc.workspace"],
    /** Time in seconds from a sign-in until the session ends and the user must sign in again. */
    sessionSeconds: config["oidc.session"],
  };
}

/** Splits `GROUP=ROLE` at its last equals sign: the name of a group may contain others. */
function groupRole(text: string): { group: string; role: WorkspaceRole } {
  const equals = text.lastIndexOf("=");
  return { group: text.slice(0, equals), role: text.slice(equals + 1) as WorkspaceRole };
}
