import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OPEN_BODY_BYTES_MAX } from "../../../src/api/request/handle.ts";
import { SESSION_SECONDS_MAX } from "../../../src/settings/limits.ts";
import { type Sent, startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
let address = 0;
beforeAll(async () => {
  // Every sign-in comes from another address, but for the test that wants one.
  api = await startApi({ hosts: ["admin.example.com"], clientOf: (_, it) => it || `${address++}` });
});
afterAll(() => api.stop());

const open = (sent: Sent = {}) =>
  api.send("POST", "/v2/session", { token: null, body: { token: api.token }, ...sent });

/** Headers that a browser sends by itself from the console's page. */
function browser(cookie: string, headers: Record<string, string> = {}): Sent {
  const own = {
    Cookie: cookie,
    Origin: api.url,
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
  };
  return { token: null, headers: { ...own, ...headers } };
}

async function signedIn(token = api.token): Promise<string> {
  const { headers } = await open({ body: { token } });
  return headers.get("set-cookie")!.split(";")[0]!;
}

test("a token signs a browser in with the token's permissions, and the browser signs out", async () => {
  const token = await api.tokenWith(["workspace:admin"]);
  const { status, headers, body, text } = await open({ body: { token: ` ${token} ` } });
  expect(status).toBe(201);
  const [pair, ...attributes] = headers.get("set-cookie")!.split("; ");
  expect(attributes.sort()).toEqual([
    "HttpOnly",
    expect.stringMatching(/^Max-Age=\d+$/),
    "Path=/",
    "SameSite=Strict",
  ]);
  const age = Number(/Max-Age=(\d+)/.exec(headers.get("set-cookie")!)![1]);
  expect(age).toBeLessThanOrEqual(SESSION_SECONDS_MAX);
  expect(age).toBeGreaterThan(SESSION_SECONDS_MAX - 60);
  const cookie = pair!;
  expect(text).not.toContain(cookie.split("=")[1]!);
  expect(body.session).toEqual({
    token: { id: expect.any(String), name: "test" },
    workspace: { id: api.workspaceId, name: "Acme" },
    permissions: ["workspace:admin", "audit:read"],
    expiresAt: expect.any(String),
  });
  expect((await api.send("GET", "/v2/session", browser(cookie))).body).toEqual(body);
  const created = { ...browser(cookie), body: { name: "S" } };
  expect((await api.send("POST", "/v2/sources", created)).status).toBe(201);
  expect((await api.send("GET", "/v2/dead-letters", browser(cookie))).status).toBe(403);

  const out = await api.send("DELETE", "/v2/session", browser(cookie));
  expect(out.status).toBe(204);
  expect(out.headers.get("set-cookie")).toStartWith("pixelmill-session=; ");
  expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
  const over = await api.send("GET", "/v2/session", browser(cookie));
  expect([over.status, over.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect((await api.send("DELETE", "/v2/session", browser(cookie))).status).toBe(204);
});

test("a member's session says who it is, and a revoked token ends it", async () => {
  const input = { name: "Ada", email: "ada@example.com", permissions: ["events:read" as const] };
  const member = await api.catalog.members.create(api.workspaceId, input);
  const personal = { name: "Laptop", permissions: [], memberId: member.id };
  const { token, secret } = await api.catalog.tokens.create(api.workspaceId, personal);
  const cookie = await signedIn(secret);
  const { body } = await api.send("GET", "/v2/session", browser(cookie));
  expect(body.session.member).toEqual({ id: member.id, name: "Ada", email: "ada@example.com" });
  expect(body.session.permissions).toEqual(["events:read"]);
  const role = { workspaceRole: "operator" as const };
  await api.client.call("PUT /v2/members/{id}", { params: { id: member.id }, body: role });
  const { session } = (await api.send("GET", "/v2/session", browser(cookie))).body;
  expect(session.member).toMatchObject(role);
  expect(session.permissions).toContain("events:replay");
  await api.client.call("DELETE /v2/tokens/{id}", { params: { id: token.id } });
  expect((await api.send("GET", "/v2/session", browser(cookie))).status).toBe(401);
});

test("an Authorization header wins over the cookie", async () => {
  const weak = await signedIn(await api.tokenWith([]));
  const strong = { ...browser(weak), token: api.token };
  expect((await api.send("GET", "/v2/sources", strong)).status).toBe(200);
  const wrong = { ...browser(await signedIn()), token: "pm_nonsense" };
  expect((await api.send("GET", "/v2/sources", wrong)).status).toBe(401);
});

describe("over TLS", () => {
  const signs: [string, Record<string, string>][] = [
    ["its origin says so", { Origin: "https://admin.example.com", Host: "admin.example.com" }],
    ["a proxy says so", { "X-Forwarded-Proto": "https, http" }],
  ];
  test.each(signs)("the cookie is secure and bound to the host when %s", async (_, headers) => {
    const { headers: answered } = await open({ headers });
    const cookie = answered.get("set-cookie")!;
    expect(cookie).toMatch(/^__Host-pixelmill-session=pms_.*; Path=\/; .*; Secure; HttpOnly; /);
    const sent = { token: null, headers: { Cookie: `a=b; ${cookie.split(";")[0]}` } };
    expect((await api.send("GET", "/v2/session", sent)).status).toBe(200);
  });

  const proofs: [string, Record<string, string>][] = [
    ["a proxy says so", { "X-Forwarded-Proto": "https" }],
    ["its origin says so", { Origin: "https://admin.example.com", Host: "admin.example.com" }],
    [
      "the browser says so by a header that it sends over TLS alone",
      { "Sec-Fetch-Site": "same-origin", Host: "admin.example.com" },
    ],
  ];
  test.each(proofs)(
    "a plain cookie, which another host may have set, is no session when %s",
    async (_, headers) => {
      const Cookie = await signedIn();
      const sent = { token: null, headers: { Cookie, ...headers } };
      expect((await api.send("GET", "/v2/session", sent)).status).toBe(401);
      expect((await api.send("GET", "/v2/session", browser(Cookie))).status).toBe(200);
    },
  );

  test("a plain cookie that another host slipped in does not replace the session", async () => {
    const { headers } = await open({ headers: { "X-Forwarded-Proto": "https" } });
    const own = headers.get("set-cookie")!.split(";")[0]!;
    const stranger = await api.catalog.workspaces.create("Stranger");
    const foreign = await signedIn(await api.tokenWith([], stranger.id));
    for (const Cookie of [`${foreign}; ${own}`, `${own}; ${foreign}`]) {
      const { body } = await api.send("GET", "/v2/session", { token: null, headers: { Cookie } });
      expect(body.session.workspace.id).toBe(api.workspaceId);
    }
  });
});

test("several cookies of the session's name are no session, and the answer says what to do", async () => {
  const own = await signedIn();
  const foreign = await signedIn(await api.tokenWith([]));
  for (const Cookie of [`${own}; ${foreign}`, `${foreign}; a=b; ${own}`, `${own}; ${own}`]) {
    const { status, body } = await api.send("GET", "/v2/session", browser(Cookie));
    expect([status, body.message]).toEqual([401, expect.stringContaining("delete the cookies")]);
  }
});

describe("a page of another site", () => {
  const changes: [string, Record<string, string>][] = [
    ["of another origin", { Origin: "http://evil.test" }],
    ["of another port", { Origin: "http://127.0.0.1:1" }],
    ["in a sandboxed frame", { Origin: "null" }],
    ["of another site, as the browser says", { "Sec-Fetch-Site": "cross-site" }],
    ["of another port, as the browser says", { "Sec-Fetch-Site": "same-site" }],
    ["under a name that was bound to this address", { Host: "evil.test" }],
  ];
  test.each(changes)("%s changes nothing by the session's cookie", async (_, headers) => {
    const cookie = await signedIn();
    const sent = { ...browser(cookie, headers), body: { name: "Foreign" } };
    expect((await api.send("POST", "/v2/sources", sent)).status).toBe(403);
    const out = await api.send("DELETE", "/v2/session", browser(cookie, headers));
    expect(out.status).toBe(403);
    expect((await api.send("GET", "/v2/session", browser(cookie))).status).toBe(200);
    const list = await api.client.call("GET /v2/sources");
    expect(list.sources.map(({ name }) => name)).not.toContain("Foreign");
  });

  test("without an origin changes nothing by the session's cookie", async () => {
    const headers = { Cookie: await signedIn() };
    const sent = { token: null, headers, body: { name: "S" } };
    expect((await api.send("POST", "/v2/sources", sent)).status).toBe(403);
  });

  test.each(changes)("%s does not sign in", async (_, headers) => {
    const { status, headers: answered } = await open({ headers: { Origin: api.url, ...headers } });
    expect([status, answered.get("set-cookie")]).toEqual([403, null]);
  });

  test("reads nothing under a name that was bound to this address", async () => {
    const sent = browser(await signedIn(), { Host: "evil.test" });
    expect((await api.send("GET", "/v2/session", sent)).status).toBe(403);
  });
});

test("an invalid token does not sign in, and is neither echoed nor logged", async () => {
  const secrets = ["", "pm_", `pm_${"guess".repeat(10)}`, "pms_".padEnd(40, "x")];
  for (const token of secrets) {
    const { status, headers, text } = await open({ body: { token } });
    expect([status, headers.get("set-cookie")]).toEqual([401, null]);
    if (token !== "") expect(text).not.toContain(token);
  }
  expect(api.log()).not.toContain("guessguess");
  expect((await open({ body: {} })).status).toBe(400);
  expect((await open({ body: { token: "x".repeat(OPEN_BODY_BYTES_MAX) } })).status).toBe(413);
});

test("failed sign-ins of one address are 429 after a few, and refuse no valid token of the address", async () => {
  const from = (address: string) => ({ "X-Forwarded-For": address });
  const guess = { body: { token: "pm_guess" }, headers: from("10.9.9.9") };
  const answers = await Promise.all(Array.from({ length: 200 }, () => open(guess)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(Number(refused[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
  const token = await api.tokenWith([]);
  for (const address of ["10.9.9.9", "10.9.9.8"]) {
    expect((await open({ body: { token }, headers: from(address) })).status).toBe(201);
  }
});

test("the log names the token of a sign-in, and not its secret", async () => {
  const token = await api.tokenWith([]);
  const cookie = await signedIn(token);
  const line = api
    .log()
    .split("\n")
    .findLast((it) => it.includes("session begun"))!;
  expect(JSON.parse(line)).toMatchObject({ workspaceId: api.workspaceId });
  expect(api.log()).not.toContain(cookie.split("=")[1]!);
  expect(api.log()).not.toContain(token);
});
