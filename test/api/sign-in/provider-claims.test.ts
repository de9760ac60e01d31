import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import {
  OpenIdProvider,
  type OpenIdSettings,
  reasonOf,
} from "../../../src/api/sign-in/openid-provider.ts";

/** Claims of accounts and of logout tokens, from a provider that sends what a test sets. */

const { publicKey, privateKey } = await generateKeyPair("ES256");
const key = { ...(await exportJWK(publicKey)), alg: "ES256", kid: "k", use: "sig" };

/** Claims of the ID token, and those of the user info endpoint, if there is one. */
let claims: object = {};
let userInfo: object | undefined;
let nonce = "";
const asked: string[] = [];
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch({ url }): Promise<Response> {
    const { pathname } = new URL(url);
    asked.push(pathname);
    if (pathname === "/jwks") return Response.json({ keys: [key] });
    if (pathname === "/userinfo") return Response.json({ sub: "ada", ...userInfo });
    if (pathname === "/token") {
      const token = await signed({ sub: "ada", nonce, ...claims });
      return Response.json({ access_token: "a", token_type: "Bearer", id_token: token });
    }
    return Response.json({
      ...{ issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` },
      ...{ authorization_endpoint: `${issuer}/authorize`, response_types_supported: ["code"] },
      ...(userInfo && { userinfo_endpoint: `${issuer}/userinfo` }),
      id_token_signing_alg_values_supported: ["ES256"],
    });
  },
});
const issuer: string = provider.url.origin;
afterAll(() => provider.stop(true));
beforeEach(() => {
  claims = {};
  userInfo = undefined;
  asked.length = 0;
});

const nowSeconds = () => Math.floor(Date.now() / 1_000);
const signed = (payload: object, more: { audience?: string; issuedAt?: number } = {}) =>
  new SignJWT({ ...payload })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setIssuer(issuer)
    .setAudience(more.audience ?? "pixelmill")
    .setIssuedAt(more.issuedAt ?? nowSeconds())
    .setExpirationTime("1h")
    .sign(privateKey);

const settings: OpenIdSettings = {
  ...{ issuer, clientId: "pixelmill", scopes: ["openid", "email"], groupsClaim: "groups" },
  ...{ roles: [], consoleUrl: "https://console.test" },
};

/** The account that signs in, as the server reads it. */
async function account(more: Partial<OpenIdSettings> = {}) {
  const signOn = new OpenIdProvider({ ...settings, ...more });
  const { url, pending } = await signOn.begin();
  nonce = pending.nonce;
  const found = await signOn.finish(`code=c&state=${pending.state}`, pending);
  return { url, found };
}

describe("an account of the OpenID provider", () => {
  test("has the claims of its token, and is not asked for again when they are all there", async () => {
    userInfo = { name: "Other" };
    claims = {
      ...{ name: " Ada ", email: "ada@a.test", email_verified: true, sid: "s" },
      groups: ["x", 1, "y"],
    };
    const { found, url } = await account();
    expect(found).toEqual({
      ...{ identity: { issuer, subject: "ada" }, name: "Ada", email: "ada@a.test" },
      ...{ isEmailVerified: true, groups: ["x", "y"], providerSession: "s" },
    });
    expect(asked).not.toContain("/userinfo");
    const { searchParams } = url;
    expect(searchParams.get("scope")).toBe("openid email");
    expect(searchParams.get("redirect_uri")).toBe("https://console.test/v2/session/oidc/callback");
  });

  test.each([
    [{ name: "Ada", preferred_username: "a1", email: "ada@a.test" }, "Ada"],
    [{ name: " ", preferred_username: "a1", email: "ada@a.test" }, "a1"],
    [{ name: 1, email: "ada@a.test" }, "ada@a.test"],
    [{}, "ada"],
  ])("with the claims %j has the name %s", async (given, name) => {
    claims = given;
    const { found } = await account();
    expect(found).toEqual({
      ...{ identity: { issuer, subject: "ada" }, name, email: (given as { email?: string }).email },
      ...{ isEmailVerified: false, groups: [], providerSession: undefined },
    });
  });

  test("is in the groups of the claim that the settings name, also in a single one", async () => {
    claims = { teams: "data", groups: ["x"], email: "ada@a.test", email_verified: "true" };
    const { found } = await account({ groupsClaim: "teams" });
    expect([found.groups, found.isEmailVerified]).toEqual([["data"], false]);
  });

  test.each([{ email: "token@a.test" }, { groups: ["token"] }])(
    "has the claims that its token %j lacks from where the provider tells them",
    async (given) => {
      claims = { name: "Token", ...given };
      userInfo = { name: "Info", email: "info@a.test", groups: ["info"] };
      const { found } = await account();
      expect(found).toMatchObject({
        ...{ name: "Token", email: "info@a.test", groups: ["info"], ...given },
      });
      expect(asked.filter((path) => path === "/userinfo")).toHaveLength(1);
    },
  );

  test("needs the answer to its own sign-in", async () => {
    claims = { nonce: "another" };
    await expect(account()).rejects.toThrow();
  });
});

test("the metadata of the OpenID provider are read once for many sign-ins", async () => {
  const signOn = new OpenIdProvider(settings);
  await Promise.all([signOn.begin(), signOn.begin()]);
  await signOn.begin();
  expect(asked).toEqual(["/.well-known/openid-configuration"]);
});

describe("a logout token of the OpenID provider", () => {
  const event = "http://schemas.openid.net/event/backchannel-logout";
  const whole = { events: { [event]: {} }, sub: "ada", sid: "s", jti: "j" };
  const read = async (payload: object, more: object = {}) =>
    await new OpenIdProvider(settings).readLogoutToken(await signed(payload, more));

  test("names the account that signs out, its session, or both", async () => {
    expect(await read(whole)).toStrictEqual({ issuer, subject: "ada", providerSession: "s" });
    expect(await read({ ...whole, sid: 1 })).toStrictEqual({ issuer, subject: "ada" });
    const { sub: _, ...session } = whole;
    expect(await read(session)).toStrictEqual({ issuer, providerSession: "s" });
  });

  const { events, sub, sid, jti } = whole;
  const refused: [string, object, object?][] = [
    ["is an ID token", { ...whole, nonce: "n" }],
    ["has no event", { ...whole, events: {} }],
    ["has another event", { ...whole, events: { "http://other.test": {} } }],
    ["has an event that is a text", { ...whole, events: event }],
    ["has nothing for its events", { ...whole, events: null }],
    ["lacks its events", { sub, sid, jti }],
    ["lacks its id", { events, sub, sid }],
    ["names neither account nor session", { events, jti }],
    ["names them by numbers", { events, jti, sid: 1 }],
    ["is for another client", whole, { audience: "other" }],
  ];
  test.each(refused)("that %s is refused", async (_, payload, more = {}) => {
    await expect(read(payload, more)).rejects.toThrow();
  });

  test("is taken for ten minutes, by clocks that may differ by a minute", async () => {
    const at = (seconds: number) => read(whole, { issuedAt: nowSeconds() + seconds });
    for (const seconds of [-640, 40]) expect(await at(seconds)).toMatchObject({ subject: "ada" });
    for (const seconds of [-700, 100]) await expect(at(seconds)).rejects.toThrow();
  });

  test("that the holder of the client's secret has signed is refused", async () => {
    const clientSecret = "s".repeat(32);
    const token = await new SignJWT(whole)
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(issuer)
      .setAudience("pixelmill")
      .setIssuedAt()
      .sign(Buffer.from(clientSecret));
    const signOn = new OpenIdProvider({ ...settings, clientSecret });
    await expect(signOn.readLogoutToken(token)).rejects.toThrow();
  });
});

test("the reason of a failed sign-in is that of the error, and of its cause", () => {
  expect(reasonOf(new Error("Refused", { cause: new Error("no route") }))).toBe(
    "Refused: no route",
  );
  expect(reasonOf(new Error("Refused", { cause: "text" }))).toBe("Refused");
  expect(reasonOf("text")).toBe("text");
});
