import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createClient } from "../../../src/api/client.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const works = async (token: string) =>
  (await api.send("GET", "/transformations", { token })).status === 200;

describe("/v2/tokens", () => {
  test("show their secret once, and are invalid as soon as they are revoked", async () => {
    const { token } = await api.client.call("POST /v2/tokens", {
      body: { name: "CI", permissions: ["libraries:edit", "libraries:edit"] },
    });
    expect(token).toEqual({
      id: expect.any(String),
      name: "CI",
      permissions: ["libraries:edit"],
      createdAt: expect.any(String),
      secret: expect.stringMatching(/^pm_[A-Za-z0-9]{32,}$/),
    });
    expect(await works(token.secret)).toBe(true);
    const listed = await api.send("GET", "/v2/tokens");
    expect(listed.text).not.toContain(token.secret);
    expect(listed.body.tokens.find((it: any) => it.id === token.id)).toEqual({
      id: token.id,
      name: "CI",
      permissions: ["libraries:edit"],
      createdAt: token.createdAt,
      lastUsedAt: expect.any(String),
    });
    await api.client.call("DELETE /v2/tokens/{id}", { params: { id: token.id } });
    expect(await works(token.secret)).toBe(false);
    expect((await api.send("DELETE", `/v2/tokens/${token.id}`)).status).toBe(404);
  });

  test("expire", async () => {
    const create = async (expiresAt: string) =>
      (
        await api.client.call("POST /v2/tokens", {
          body: { name: "T", permissions: [], expiresAt },
        })
      ).token;
    const past = await create("2020-01-01T00:00:00Z");
    const future = await create("2999-01-01T00:00:00+02:00");
    expect([past.expiresAt, future.expiresAt]).toEqual([
      "2020-01-01T00:00:00.000Z",
      "2998-12-31T22:00:00.000Z",
    ]);
    expect([await works(past.secret), await works(future.secret)]).toEqual([false, true]);
  });

  test.each([
    [{ name: "T" }, "/permissions"],
    [{ name: "T", permissions: ["everything"] }, "/permissions/0"],
    [{ name: "T", permissions: "libraries:edit" }, "/permissions"],
    [{ permissions: [] }, "/name"],
    [{ name: "T", permissions: [], expiresAt: "tomorrow" }, "/expiresAt"],
    [{ name: "T", permissions: [], expires_at: "2030-01-01T00:00:00Z" }, "/expiresAt"],
    [{ name: "T", permissions: [], expiresAt: 1 }, "/expiresAt"],
  ])("refuse %p", async (body, path) => {
    const answer = await api.send("POST", "/v2/tokens", { body });
    expect([answer.status, answer.body.details?.[0].path]).toEqual([400, path]);
  });
});

describe("personal tokens", () => {
  test("follow their member at each request, and end with it", async () => {
    const { member } = await api.client.call("POST /v2/members", {
      body: { name: "Ada", email: "ada@example.com", role: "admin" },
    });
    const params = { id: member.id };
    const { token } = await api.client.call("POST /v2/tokens", {
      body: { name: "Ada's", memberId: member.id },
    });
    const mayEdit = async () => {
      const body = { name: "L", language: "javascript", code: "" };
      return (await api.send("POST", "/libraries", { token: token.secret, body })).status === 200;
    };
    expect(await mayEdit()).toBe(false);
    // The legacy role: admin with edit access under Transformations.
    await api.client.call("PUT /v2/members/{id}", { params, body: { editTransformations: true } });
    expect(await mayEdit()).toBe(true);
    await api.client.call("PUT /v2/members/{id}", { params, body: { role: "member" } });
    expect(await mayEdit()).toBe(false);
    const { member: changed } = await api.client.call("PUT /v2/members/{id}", {
      params,
      body: { permissions: ["libraries:edit"] },
    });
    expect(changed).toMatchObject({ role: "member", permissions: ["libraries:edit"] });
    expect(await mayEdit()).toBe(true);
    await api.client.call("DELETE /v2/members/{id}", { params });
    expect(await works(token.secret)).toBe(false);
  });

  test("show their member's present permissions", async () => {
    const { member } = await api.client.call("POST /v2/members", {
      body: { name: "Bo", email: "bo@example.com", permissions: ["events:read"] },
    });
    const { token } = await api.client.call("POST /v2/tokens", {
      body: { name: "Bo's", permissions: ["libraries:edit"], memberId: member.id },
    });
    expect(token.permissions).toEqual(["events:read"]);
    await api.client.call("PUT /v2/members/{id}", {
      params: { id: member.id },
      body: { permissions: ["libraries:edit"] },
    });
    const { tokens } = await api.client.call("GET /v2/tokens");
    expect(tokens.find(({ id }) => id === token.id)?.permissions).toEqual(["libraries:edit"]);
  });

  test("need a member of the workspace", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const stranger = await api.catalog.members.create(other.id, { name: "S", email: "s@x.y" });
    for (const memberId of ["unknown", stranger.id]) {
      const { status } = await api.send("POST", "/v2/tokens", { body: { name: "T", memberId } });
      expect(status).toBe(404);
    }
  });
});

describe("authentication", () => {
  const answer = (Authorization: string) =>
    api.send("GET", "/transformations", { token: null, headers: { Authorization } });
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  test("takes Bearer, and Basic with the token as password, in any case", async () => {
    for (const header of [
      `Bearer ${api.token}`,
      `bearer ${api.token}`,
      `BEARER   ${api.token}`,
      basic(`:${api.token}`),
      basic(`ada@example.com:${api.token}`),
      basic(`ada@example.com:${api.token}`).replace("Basic", "bASIC"),
    ]) {
      expect([header, (await answer(header)).status]).toEqual([header, 200]);
    }
  });

  test.each([
    "",
    "Bearer",
    "Bearer ",
    "Bearer pm_unknown",
    "Digest abc",
    "Basic !!!",
    basic("no colon"),
    basic("a:"),
    `Bearer ${"x".repeat(8_000)}`,
  ])("refuses %p", async (header) => {
    const refused = await answer(header);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    expect(Object.keys(refused.body)).toEqual(["message"]);
  });

  test("refuses the token itself without a scheme, and cut short", async () => {
    for (const header of [api.token, `Bearer ${api.token.slice(0, -1)}`, `Bearer ${api.token}0`]) {
      expect((await answer(header)).status).toBe(401);
    }
  });

  test("refuses pages of other sites, whose browser sends credentials by itself", async () => {
    const from = async (site: string) =>
      (
        await api.send("POST", "/v2/sources", {
          body: { name: "S" },
          headers: { "Sec-Fetch-Site": site },
        })
      ).status;
    expect(await Promise.all(["cross-site", "same-site", "same-origin", "none"].map(from))).toEqual(
      [403, 403, 201, 201],
    );
  });

  test("names the permission that a token lacks", async () => {
    const token = await api.tokenWith(["transformations:create-delete"]);
    const { status, body } = await api.send("POST", "/transformations?publish=true", {
      token,
      body: { name: "T", language: "javascript", destinations: ["x"] },
    });
    expect(status).toBe(403);
    expect(body).toEqual({
      message:
        "The token lacks the permission transformations:edit and transformations:connect and destinations:connect",
    });
  });

  test("the client keeps an id inside its path", async () => {
    const params = { id: "../libraries" };
    const refused = await api.client
      .call("GET /transformations/{id}", { params })
      .catch((it) => it);
    expect(refused).toMatchObject({ status: 404, message: "Transformation not found" });
  });

  test("the client rejects with the server's message", async () => {
    const stranger = createClient({ baseUrl: api.url, token: "pm_unknown" });
    const refused = await stranger.call("GET /libraries").catch((error) => error);
    expect(refused).toMatchObject({ name: "RequestRefused", status: 401, details: [] });
    expect(refused.message).toStartWith("Expected a valid token");
  });
});

test("the log names the token and route of every request that is not a GET", async () => {
  const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
  await api.client.call("PUT /v2/sources/{id}", { params: { id: source.id }, body: {} });
  await api.client.call("GET /v2/sources/{id}", { params: { id: source.id } });
  const lines = api
    .log()
    .split("\n")
    .filter((line) => line.includes(source.id))
    .map((line) => JSON.parse(line));
  const about = { workspaceId: api.workspaceId, tokenId: expect.any(String), id: source.id };
  expect(lines).toEqual([
    expect.objectContaining({ route: "POST /v2/sources", ...about }),
    expect.objectContaining({ route: "PUT /v2/sources/{id}", ...about }),
  ]);
});

test("no secret is ever logged", async () => {
  const secret = `whsec_${Buffer.from("s".repeat(24)).toString("base64")}`;
  const { token } = await api.client.call("POST /v2/tokens", {
    body: { name: "T", permissions: [] },
  });
  const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
  const value = crypto.randomUUID();
  await api.client.call("POST /v2/credentials", { body: { name: "KEY", value } });
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name: "D", type: "webhook", config: { webhookUrl: "http://127.0.0.1:9/", secret } },
  });
  await api.client.call("POST /v2/connections", {
    body: { sourceId: source.id, destinationId: destination.id },
  });
  await api.page(source.id, "anonymousId=a");
  await works(token.secret);
  await works(`${token.secret}x`);
  for (const hidden of [api.token, token.secret, source.writeKey, value, secret]) {
    expect(api.log()).not.toContain(hidden);
  }
});
