import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { OpenIdProvider } from "../../../src/api/sign-in/openid-provider.ts";
import { permissions } from "../../../src/catalog/model.ts";
import { startApi, type TestApi } from "../_setup.ts";
import { providerSettings, startProvider, TestBrowser, type TestProvider } from "./_provider.ts";

let api: TestApi;
let provider: TestProvider;
const settings = providerSettings();
let address = 0;

beforeAll(async () => {
  const signOn = { name: "Acme", workspaceId: undefined, sessionSeconds: 600 };
  api = await startApi({
    signOn: { ...signOn, provider: new OpenIdProvider(settings) },
    // Failed sign-ins are counted by address, and a file of tests has many.
    clientOf: () => `${address++}`,
  });
  provider = await startProvider(api.url);
  Object.assign(settings, { issuer: provider.issuer, consoleUrl: api.url });
});
afterAll(async () => {
  await api.stop();
  await provider.stop();
});

const ada = { name: "Ada", email: "ada@example.com", email_verified: true };
beforeEach(() => {
  provider.accounts = { ada: { ...ada, groups: ["data"] } };
  provider.current = "ada";
});

async function signIn(browser = new TestBrowser()) {
  const { answer, trail } = await browser.open(`${api.url}/v2/session/oidc`);
  return { browser, answer, end: trail.at(-1)!.replace(api.url, "") };
}

async function sessionOf(browser: TestBrowser) {
  const answer = await browser.send(`${api.url}/v2/session`);
  return { status: answer.status, session: ((await answer.json()) as any).session };
}

async function membersNamed(email: string) {
  const { members } = await api.client.call("GET /v2/members");
  return members.filter((member) => member.email === email);
}

test("the sign-in form learns of the provider without a token", async () => {
  const { body } = await api.send("GET", "/v2/sign-in", { token: null });
  expect(body.signIn.provider).toEqual({ name: "Acme", path: "/v2/session/oidc" });
});

describe("an account that signs in", () => {
  test("becomes a member with the role of its groups, and gets a session", async () => {
    const { browser, end } = await signIn();
    expect(end).toBe("/");
    const { session } = await sessionOf(browser);
    expect(session.member).toMatchObject({ name: "Ada", email: "ada@example.com" });
    expect(session.permissions.toSorted()).toEqual(
      [
        ...["destinations:connect", "events:read", "libraries:edit", "transformations:connect"],
        ...["transformations:create-delete", "transformations:edit"],
      ].toSorted(),
    );
    const endsIn = Date.parse(session.expiresAt) - Date.now();
    expect(endsIn).toBeLessThanOrEqual(600_000);
    const [member] = await membersNamed("ada@example.com");
    expect(member).toMatchObject({
      workspaceRole: "developer",
      identity: { issuer: provider.issuer, subject: "ada" },
    });
  });

  test("stays one member, whose name, address and role follow the provider", async () => {
    const before = await signIn();
    provider.accounts.ada = {
      ...{ name: "Ada L.", email: "ada@new.example.com", email_verified: true },
      groups: ["data", "platform", "others"],
    };
    const { browser } = await signIn();
    const { session } = await sessionOf(browser);
    expect(session.permissions.toSorted()).toEqual([...permissions].toSorted());
    const first = (await sessionOf(before.browser)).session;
    expect(session.member).toEqual({
      ...first.member,
      name: "Ada L.",
      email: "ada@new.example.com",
    });
    expect(first.permissions).toEqual(session.permissions);
  });

  test("takes the member with its verified address, and no other member", async () => {
    const input = { name: "Bob", permissions: ["events:replay" as const] };
    const invited = await api.catalog.members.create(api.workspaceId, {
      ...{ ...input, email: "Bob@example.com" },
    });
    provider.accounts.bob = { name: "Bob", email: "bob@example.com", groups: ["data"] };
    provider.current = "bob";
    await signIn();
    const unverified = await membersNamed("bob@example.com");
    expect(unverified.map(({ id }) => id)).not.toContain(invited.id);
    provider.accounts.carl = { ...provider.accounts.bob, email_verified: true };
    provider.current = "carl";
    const { browser } = await signIn();
    const { session } = await sessionOf(browser);
    expect(session.member.id).toBe(invited.id);
    expect(session.permissions).toContain("events:replay");
  });

  test("without a role is refused, and loses the role and sessions it had", async () => {
    provider.accounts.dora = { name: "Dora", email: "dora@example.com", groups: ["on-call"] };
    provider.current = "dora";
    const { browser } = await signIn();
    expect((await sessionOf(browser)).session.permissions).toContain("events:replay");
    provider.accounts.dora = { name: "Dora", email: "dora@example.com", groups: [] };
    const again = await signIn();
    expect(again.end).toBe("/?sign-in=no-role");
    expect((await sessionOf(again.browser)).status).toBe(401);
    expect((await sessionOf(browser)).status).toBe(401);
    expect((await membersNamed("dora@example.com"))[0]!.workspaceRole).toBeUndefined();
  });

  test("without an email address is refused", async () => {
    provider.accounts.ada = { groups: ["data"] };
    expect((await signIn()).end).toBe("/?sign-in=no-email");
  });
});

test("the audit log names the member that is made, its account and the client of the sign-in", async () => {
  provider.accounts.flo = { ...ada, name: "Flo", email: "flo@example.com", groups: ["on-call"] };
  provider.current = "flo";
  const { session } = await sessionOf((await signIn()).browser);
  const { entries } = await api.client.call("GET /v2/audit");
  const made = entries.find(({ resource }) => resource?.id === session.member.id);
  expect(JSON.stringify(made)).toContain("operator");
  expect(JSON.stringify(made)).toContain(provider.issuer);
  const begun = entries.find(({ action }) => action.startsWith("session"));
  expect(begun).toMatchObject({ client: expect.any(String) });
});

describe("a sign-in is refused", () => {
  test("when the provider refuses it", async () => {
    provider.current = undefined;
    const { browser, end } = await signIn();
    expect(end).toBe("/?sign-in=denied");
    expect((await sessionOf(browser)).status).toBe(401);
  });

  test("when another browser comes back than the one that was sent", async () => {
    const victim = new TestBrowser();
    const { trail } = await victim.open(`${api.url}/v2/session/oidc`);
    const callback = trail.find((url) => url.includes("/callback"))!;
    const thief = new TestBrowser();
    const { answer } = await thief.open(callback);
    expect(answer.url).toContain("sign-in=expired");
    await thief.send(`${api.url}/v2/session/oidc`);
    const state = new URL(callback).searchParams.get("state")!;
    expect(thief.cookies(api.url)["pixelmill-sign-in"]).not.toStartWith(state);
    expect((await thief.open(callback)).answer.url).toContain("sign-in=expired");
    expect((await sessionOf(thief)).status).toBe(401);
  });

  test.each(["[", "a:b:c"])("when no browser sends it, with the host %j", async (Host) => {
    const callback = `${api.url}/v2/session/oidc/callback?state=a`;
    const answer = await fetch(callback, { headers: { Host }, redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/?sign-in=expired"]);
  });

  test("when the code is used a second time, or is not the provider's", async () => {
    const { browser } = await signIn();
    const start = await browser.send(`${api.url}/v2/session/oidc`);
    const { searchParams } = new URL(start.headers.get("location")!);
    const state = searchParams.get("state")!;
    const forged = new URLSearchParams({ code: "made-up", state, iss: provider.issuer });
    const { answer } = await browser.open(`${api.url}/v2/session/oidc/callback?${forged}`);
    expect(answer.url).toContain("sign-in=failed");
    expect(api.log()).toContain("invalid_grant");
  });

  test("when the provider does not answer, and works again once it does", async () => {
    const { issuer } = settings;
    const lost = { ...settings, issuer: "http://127.0.0.1:1" };
    const signOn = { provider: new OpenIdProvider(lost), name: "Acme", workspaceId: undefined };
    const other = await startApi({ signOn: { ...signOn, sessionSeconds: 600 } });
    try {
      const { answer } = await new TestBrowser().open(`${other.url}/v2/session/oidc`);
      expect(answer.url).toContain("sign-in=unreachable");
      lost.issuer = issuer;
      const found = await new TestBrowser().send(`${other.url}/v2/session/oidc`);
      expect(found.headers.get("location")).toStartWith(issuer);
    } finally {
      await other.stop();
    }
  });
});

test("the browser is sent with PKCE, and its cookie is out of reach of scripts", async () => {
  const answer = await new TestBrowser().send(`${api.url}/v2/session/oidc`, {
    headers: { "X-Forwarded-Proto": "https" },
  });
  const { searchParams } = new URL(answer.headers.get("location")!);
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  const cookie = answer.headers.get("set-cookie")!;
  expect(cookie).toMatch(
    /^__Host-pixelmill-sign-in=[^;]+; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Lax$/,
  );
  expect(cookie).toContain("Secure");
});

describe("the provider's back-channel logout", () => {
  const logOut = (token: string) =>
    api.send("POST", "/v2/session/oidc/logout", {
      token: null,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ logout_token: token }).toString(),
    });

  test("ends the sessions of the account that signs out there, and no others", async () => {
    const { browser } = await signIn();
    provider.accounts.eve = { ...ada, email: "eve@example.com", groups: ["data"] };
    provider.current = "eve";
    const other = (await signIn()).browser;
    const form = await browser.send(`${provider.issuer}/session/end`);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(await form.text())![1]!;
    const ended = await browser.send(`${provider.issuer}/session/end/confirm`, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ xsrf, logout: "yes" }).toString(),
    });
    expect(ended.status).toBeLessThan(400);
    while ((await sessionOf(browser)).status !== 401) await Bun.sleep(10);
    expect((await sessionOf(other)).status).toBe(200);
  });

  test.each([
    ["a text that is no token", "nonsense"],
    ["an unsigned token", `${btoa('{"alg":"none"}')}.${btoa('{"sub":"ada"}')}.`],
  ])("is refused with %s", async (_, token) => {
    const { browser } = await signIn();
    expect((await logOut(token)).status).toBe(400);
    expect((await sessionOf(browser)).status).toBe(200);
  });
});

test("revoking the token of the sessions signs a member out", async () => {
  const { browser } = await signIn();
  const { session } = await sessionOf(browser);
  expect(session.token.name).toBe("Single sign-on");
  await api.client.call("DELETE /v2/tokens/{id}", { params: { id: session.token.id } });
  expect((await sessionOf(browser)).status).toBe(401);
  expect((await sessionOf((await signIn(browser)).browser)).status).toBe(200);
});

test("without a provider there is nothing to sign in at", async () => {
  const plain = await startApi({ signOn: undefined });
  try {
    const offered = await plain.send("GET", "/v2/sign-in", { token: null });
    expect(offered.body).toEqual({ signIn: {} });
    const answer = await plain.send("GET", "/v2/session/oidc", { token: null });
    expect([answer.status, answer.body.message]).toEqual([
      404,
      expect.stringContaining("oidc.issuer"),
    ]);
  } finally {
    await plain.stop();
  }
});
