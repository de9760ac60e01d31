import { expect, test } from "bun:test";
import { openSignOn } from "../../../src/api/sign-in/sign-on.ts";
import { readSettings } from "../../../src/settings/reader.ts";

const openWith = (flags: Record<string, string>) => openSignOn(readSettings(flags, {}).config);
const complete = {
  ...{ "oidc-issuer": "https://id.test", "oidc-client-id": "me", "oidc-roles": "data=viewer" },
  "admin-url": "https://console.test",
};

test("without settings of a provider there is no single sign-on", () => {
  expect(openWith({ "admin-url": "https://console.test" })).toBeUndefined();
});

const without = (flag: keyof typeof complete) => {
  const { [flag]: _, ...flags } = complete;
  return flags;
};
test.each([
  [{ "oidc-client-id": "me" }, "oidc.client.id and oidc.client.secret need oidc.issuer"],
  [{ "oidc-client-secret": "a" }, "oidc.client.id and oidc.client.secret need oidc.issuer"],
  [without("oidc-client-id"), "oidc.issuer needs oidc.client.id and admin.url"],
  [without("admin-url"), "oidc.issuer needs oidc.client.id and admin.url"],
  [without("oidc-roles"), "oidc.issuer needs oidc.roles"],
  [{ ...complete, "oidc-ca": "/no/such/file" }, "oidc.ca"],
] as [Record<string, string>, string][])("the settings %j contradict each other", (flags, text) => {
  expect(() => openWith(flags)).toThrow(text);
});

test("single sign-on has the provider, the roles and the time of the settings", () => {
  const { provider, ...signOn } = openWith({
    ...complete,
    ...{ "oidc-client-secret": "hush", "oidc-roles": "data=viewer,a=b=admin" },
    ...{ "oidc-name": "Acme", "oidc-session": "60", "oidc-groups-claim": "teams" },
  })!;
  expect(signOn).toEqual({ name: "Acme", workspaceId: undefined, sessionSeconds: 60 });
  expect(provider.settings).toEqual({
    ...{ issuer: "https://id.test", clientId: "me", clientSecret: "hush", groupsClaim: "teams" },
    scopes: ["openid", "profile", "email"],
    roles: [
      { group: "data", role: "viewer" },
      { group: "a=b", role: "admin" },
    ],
    consoleUrl: "https://console.test",
  });
  // A client without a secret is a public one.
  expect(openWith(complete)!.provider.settings).not.toHaveProperty("clientSecret");
});
