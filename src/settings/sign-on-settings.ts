import { Type } from "@sinclair/typebox";
import { SESSION_SECONDS_MAX } from "./limits.ts";
import { httpUrl, integer, list, optionalText, secretText } from "./schema-types.ts";

/** Settings of single sign-on with OpenID Connect, as a part of `configSchema`. */
export const signOnSettings = {
  "oidc.issuer": httpUrl(
    "OpenID provider that people sign in at; needs `admin.url`",
    "^https?://[^ ?#]+$",
  ),
  "oidc.name": Type.String({
    default: "single sign-on",
    minLength: 1,
    maxLength: 64,
    description: "name of the provider on the console's button",
  }),
  "oidc.client.id": optionalText("id by which the provider knows this server", { maxLength: 512 }),
  "oidc.client.secret": secretText("secret of that id; none for a public client"),
  "oidc.ca": optionalText(
    "PEM file of the authorities that the provider's certificate is signed by",
  ),
  "oidc.scopes": list(
    "scopes that the server asks for; some providers send groups only for another one",
    { pattern: "^[^ ]+$", title: "scopes" },
    ["openid", "profile", "email"],
  ),
  "oidc.groups.claim": Type.String({
    default: "groups",
    minLength: 1,
    maxLength: 256,
    description: "claim of the ID token or of UserInfo with the names of an account's groups",
  }),
  "oidc.roles": list(
    "roles of groups, such as `data-team=developer`; `*` is everybody's group. " +
      "An account without a role may not sign in",
    {
      pattern: "^.+=(viewer|developer|operator|admin)$",
      title: "GROUP=ROLE, with the role viewer, developer, operator or admin",
    },
  ),
  "oidc.workspace": optionalText("workspace of the accounts; the oldest one without it", {
    pattern: "^[0-9A-Za-z]{27}$",
    title: "the id of a workspace",
  }),
  "oidc.session": integer("seconds after which people sign in at the provider again", {
    default: 28_800,
    minimum: 60,
    maximum: SESSION_SECONDS_MAX,
  }),
};
