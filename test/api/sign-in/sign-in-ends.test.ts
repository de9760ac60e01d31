import { describe, expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { PROVIDER_SIGN_IN_SECONDS_MAX, PROVIDER_SIGN_INS_MAX } from "../../../src/api/limits.ts";
import { singleSignOnRoutes } from "../../../src/api/routes/resources/single-sign-on.ts";
import type { ApiError } from "../../../src/errors.ts";
import { EMAIL_CHARS_MAX, NAME_CHARS_MAX } from "../../../src/settings/limits.ts";

/** The two ends of a sign-in at a provider, without a provider. */

const identity = { issuer: "https://id.test", subject: "ada" };
const ada = {
  ...{ identity, name: "Ada", email: "ada@a.test", isEmailVerified: true },
  ...{ groups: ["data"], providerSession: "p" },
};
const pending = { state: "s", nonce: "n", verifier: "v" };

interface Scene {
  /** Answer of the provider: an account, or an error. */
  account?: object;
  roles?: { group: string; role: string }[];
  workspaceId?: string;
  starting?: string;
  signOn?: undefined;
}

/** A server whose provider answers `account`; `told` has what the catalog was told, in order. */
function scene({ account = ada, workspaceId, starting, ...more }: Scene = {}) {
  const told: unknown[][] = [];
  const limiters = createLimiters(0);
  const note =
    (name: string, answer?: unknown) =>
    async (...given: unknown[]) => {
      told.push([name, ...given]);
      return answer;
    };
  const roles = more.roles ?? [
    { group: "data", role: "developer" },
    { group: "ops", role: "operator" },
  ];
  const provider = {
    settings: { roles },
    async begin() {
      if (account instanceof Error) throw account;
      return { url: new URL("https://id.test/authorize?x=1"), pending };
    },
    async finish(search: string, of: object) {
      told.push(["finish", search, of]);
      if (account instanceof Error) throw account;
      return account;
    },
    readLogoutToken: async (token: string) => {
      if (token === "wrong") throw new Error("No token");
      return { issuer: "i", subject: token };
    },
  };
  const begun = { principal: { tokenId: "t" }, secret: "secret" };
  const deps = {
    limiters,
    starting: () => starting,
    logger: { info() {}, warn() {} },
    signOn: { provider, name: "Acme", workspaceId, sessionSeconds: 600 },
    ...("signOn" in more && { signOn: undefined }),
    catalog: {
      current: note("current"),
      workspaces: {
        list: () => [{ id: "w" }, { id: "x" }],
        get: (id: string) => (id === "gone" ? undefined : { id }),
      },
      identities: { refuse: note("refuse"), admit: note("admit", { id: "m" }) },
      sessions: {
        beginForMember: note("begin", begun),
        endProviderSessions: note("end", 2),
      },
    },
  };
  const send = async (key: string, path = "", more: { cookie?: string; body?: object } = {}) => {
    const { cookie, body } = more;
    const headers: Record<string, string> = cookie === undefined ? {} : { cookie };
    const request = { url: `http://x/v2/session/oidc${path}`, headers: new Headers(headers) };
    const route = singleSignOnRoutes.find((it) => it.key === key) as never as {
      handle(call: object): unknown;
    };
    return (await route.handle({ deps, request, client: () => "192.0.2.1", body })) as Response;
  };
  return { send, told, limiters };
}

const CALLBACK = "GET /v2/session/oidc/callback";
const cookie = "pixelmill-sign-in=s.n.v";

/** Lets a browser come back; resolves with its next address and the calls of the catalog. */
async function comesBack(given: Scene = {}, query = "?state=s&code=c", kept = cookie) {
  const { send, told } = scene(given);
  const answer = await send(CALLBACK, `/callback${query}`, { cookie: kept });
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([303, "no-store"]);
  return { to: answer.headers.get("location"), cookies: answer.headers.getSetCookie(), told };
}

describe("a browser that comes back from the provider", () => {
  test("gets a session of the member with the role of its groups, and keeps no other cookie", async () => {
    const { to, cookies, told } = await comesBack();
    expect(to).toBe("/");
    const [session, signIn, ...others] = cookies;
    expect(session).toMatch(/^pixelmill-session=secret; Path=\/; Max-Age=(600|59\d);/);
    expect(signIn).toStartWith("pixelmill-sign-in=; Path=/; Max-Age=0;");
    expect(others).toEqual([]);
    const member = { identity, name: "Ada", email: "ada@a.test", isEmailVerified: true };
    expect(told).toStrictEqual([
      ["finish", "state=s&code=c", pending],
      ["current"],
      ["admit", "w", { ...member, role: "developer" }],
      ["begin", "w", "m", { expiresAt: expect.any(Number), providerSession: "p" }],
    ]);
  });

  test("joins the workspace of the settings, with the highest of its roles", async () => {
    const account = { ...ada, groups: ["ops", "data"], providerSession: undefined };
    const { told } = await comesBack({ account, workspaceId: "x" });
    const [, workspaceId, { role }] = told[2] as [string, string, { role: string }];
    expect([workspaceId, role]).toEqual(["x", "operator"]);
    expect(told[3]![3]).not.toHaveProperty("providerSession");
    const all = { ...ada, groups: [] };
    const everyone = await comesBack({ account: all, roles: [{ group: "*", role: "viewer" }] });
    expect((everyone.told[2] as any[])[2].role).toBe("viewer");
  });

  test("has a name and an address of limited lengths", async () => {
    const name = "a".repeat(NAME_CHARS_MAX + 1);
    const email = "e".repeat(EMAIL_CHARS_MAX);
    const { to, told } = await comesBack({ account: { ...ada, name, email } });
    expect([to, (told[2] as any[])[2].name]).toEqual(["/", name.slice(1)]);
    for (const other of [`${email}e`, undefined]) {
      const refused = await comesBack({ account: { ...ada, email: other } });
      expect(refused.to).toBe("/?sign-in=no-email");
      expect(refused.told.map(([of]) => of)).toEqual(["finish", "current"]);
    }
  });

  test("without a role is refused in its workspace, and loses its session", async () => {
    const { to, cookies, told } = await comesBack({ account: { ...ada, groups: ["other"] } });
    expect(to).toBe("/?sign-in=no-role");
    expect(told.slice(2)).toEqual([["refuse", "w", identity]]);
    expect(cookies.map((it) => it.split("; ")[0])).toEqual([
      ...["pixelmill-sign-in=", "pixelmill-session="],
    ]);
  });

  test.each([
    ["?state=s&code=c", ""],
    ["?state=s&code=c", "pixelmill-sign-in=s.n"],
    ["?state=s&code=c", "pixelmill-sign-in=s.n.v.x"],
    ["?state=s&code=c", "pixelmill-sign-in=s..v"],
    ["?state=&code=c", "pixelmill-sign-in=.n.v"],
    ["?state=s&code=c", "pixelmill-sign-in=s.n."],
    ["?state=t&code=c", cookie],
    ["?code=c", cookie],
    ["", cookie],
  ])("with the query %j and the cookie %j was not sent there", async (query, kept) => {
    const { to, told } = await comesBack({}, query, kept);
    expect([to, told]).toEqual(["/?sign-in=expired", []]);
  });

  test("goes to the page of a denied sign-in after a denial, and to that of a failure after any other error", async () => {
    const denied = await comesBack({}, "?state=s&error=access_denied");
    expect([denied.to, denied.told]).toEqual(["/?sign-in=denied", []]);
    const account = new Error("invalid_grant");
    const failed = await comesBack({ account }, "?state=s&error=server_error");
    expect(failed.to).toBe("/?sign-in=failed");
  });

  test("goes to the page of a busy server while the server starts", async () => {
    const { to, told } = await comesBack({ starting: "The server is starting" });
    expect([to, told]).toEqual(["/?sign-in=busy", []]);
  });

  test("finds no workspace where that of the settings is gone", async () => {
    const refused = comesBack({ workspaceId: "gone" });
    await expect(refused).rejects.toThrow("The workspace of the setting oidc.workspace");
  });
});

describe("a browser that begins a sign-in", () => {
  const BEGIN = "GET /v2/session/oidc";

  test("goes to the provider, and keeps what it needs to come back for ten minutes", async () => {
    const { send } = scene();
    const answer = await send(BEGIN);
    expect([answer.status, answer.headers.get("location")]).toEqual([
      ...[303, "https://id.test/authorize?x=1"],
    ]);
    const [kept, ...others] = answer.headers.getSetCookie();
    const seconds = PROVIDER_SIGN_IN_SECONDS_MAX;
    expect(kept).toStartWith(`pixelmill-sign-in=s.n.v; Path=/; Max-Age=${seconds};`);
    expect([others, seconds]).toEqual([[], 600]);
  });

  test("goes to the page of an unreachable provider, and after several attempts to that of a busy server", async () => {
    const { send } = scene({ account: new Error("no route") });
    const tried = async () => (await send(BEGIN)).headers.get("location");
    expect(await tried()).toBe("/?sign-in=unreachable");
    let last = await tried();
    for (let n = 0; n < 30 && last === "/?sign-in=unreachable"; n++) last = await tried();
    expect(last).toBe("/?sign-in=busy");
  });

  test("goes to the page of a busy server while many sign-ins wait for the provider", async () => {
    const { send, limiters } = scene();
    const permits = Array.from({ length: PROVIDER_SIGN_INS_MAX }, () =>
      limiters.providerSignIns.acquire("all"),
    );
    const busy = "/?sign-in=busy";
    expect((await send(BEGIN)).headers.get("location")).toBe(busy);
    const back = await send(CALLBACK, "/callback?state=s", { cookie });
    expect(back.headers.get("location")).toBe(busy);
    permits[0]!.release();
    // Each gives its permit back.
    for (let n = 0; n < 2; n++) {
      expect((await send(BEGIN)).headers.get("location")).toStartWith("https://id.test/");
      expect(
        (await send(CALLBACK, "/callback?state=s&code=c", { cookie })).headers.get("location"),
      ).toBe("/");
    }
  });
});

test("a logout token of the provider ends the sessions that it names, and a wrong one is refused", async () => {
  const { send, told, limiters } = scene();
  const logOut = (token: string) =>
    send("POST /v2/session/oidc/logout", "/logout", { body: { logout_token: token } });
  const answer = await logOut("ada");
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
  expect(told).toEqual([["end", { issuer: "i", subject: "ada" }]]);
  const message = "Expected a valid logout token of the OpenID provider";
  const refused = await logOut("wrong").catch((error: unknown) => error);
  expect([(refused as ApiError).refusal, (refused as ApiError).message]).toEqual([
    ...["invalid", message],
  ]);
  for (let n = 0; n < PROVIDER_SIGN_INS_MAX; n++) limiters.providerSignIns.acquire("all");
});

test("without a provider, sign-ins are refused and the list of ways to sign in is empty", async () => {
  const { send } = scene({ signOn: undefined });
  for (const key of ["GET /v2/session/oidc", CALLBACK, "POST /v2/session/oidc/logout"]) {
    await expect(send(key, "", { body: {} })).rejects.toThrow("Single sign-on is off");
  }
  expect((await send("GET /v2/sign-in")) as unknown).toStrictEqual({ signIn: {} });
  const provider = { name: "Acme", path: "/v2/session/oidc" };
  expect((await scene().send("GET /v2/sign-in")) as unknown).toStrictEqual({
    signIn: { provider },
  });
});
