import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createClient } from "../../../src/api/client.ts";
import type { MemberInput } from "../../../src/catalog/management/members.ts";
import { type Permission, permissions } from "../../../src/catalog/model.ts";
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
    [{ name: "T", permissions: [], expires_at: "2030-01-01T00:00:00Z" }, ""],
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

describe("a caller gives only what it has:", () => {
  const addMember = (given: Partial<MemberInput>) =>
    api.catalog.members.create(api.workspaceId, { name: "M", email: "m@x.y", ...given });
  const personal = async (memberId: string, expiresAt?: number) => {
    const input = { name: "P", permissions: [], memberId, ...(expiresAt && { expiresAt }) };
    return (await api.catalog.tokens.create(api.workspaceId, input)).secret;
  };
  /** Every request by which a caller can give a permission to itself or to others. */
  const gifts = (permission: Permission, own: string, other: string) => {
    const one = { permissions: [permission] };
    const person = { name: "N", email: "n@x.y" };
    return [
      ["POST", "/v2/tokens", { name: "T", ...one }],
      ["POST", "/v2/members", { ...person, ...one }],
      ["PUT", `/v2/members/${own}`, { permissions: ["workspace:admin", permission] }],
      ["PUT", `/v2/members/${other}`, { permissions: ["events:read", permission] }],
    ] as const;
  };

  test("a permission is given by callers that have it alone, in every request", async () => {
    const isAdmin = { permissions: ["workspace:admin" as const] };
    for (const permission of permissions) {
      const [own, other] = [await addMember(isAdmin), await addMember({})];
      // A permission that the member has already may be named again.
      await api.catalog.members.update(api.workspaceId, other.id, { permissions: ["events:read"] });
      const poor = [await personal(own.id), await api.tokenWith(["workspace:admin"])];
      const rich = [api.token, await api.tokenWith(["workspace:admin", permission])];
      for (const [method, path, body] of gifts(permission, own.id, other.id)) {
        const had = path.endsWith(other.id) ? "events:read" : "workspace:admin";
        for (const token of poor) {
          const { status, body: answer } = await api.send(method, path, { token, body });
          // `workspace:admin`, which each of these callers has, includes `audit:read`.
          const isOwn = ["workspace:admin", "audit:read", had].includes(permission);
          expect([path, permission, status < 300]).toEqual([path, permission, isOwn]);
          if (!isOwn)
            expect([status, answer.message]).toEqual([403, expect.stringContaining(permission)]);
        }
        for (const token of rich) {
          const { status } = await api.send(method, path, { token, body });
          expect([path, permission, status < 300]).toEqual([path, permission, true]);
        }
        await api.catalog.members.update(api.workspaceId, own.id, isAdmin);
        await api.catalog.members.update(api.workspaceId, other.id, {
          permissions: ["events:read"],
        });
      }
    }
  });

  test("the legacy role, which holds five permissions, counts as these", async () => {
    const token = await api.tokenWith(["workspace:admin", "transformations:edit"]);
    const { id } = await addMember({ role: "admin" });
    const body = { editTransformations: true };
    const refused = await api.send("PUT", `/v2/members/${id}`, { token, body });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      "The token lacks the permission transformations:create-delete and transformations:connect and libraries:edit and destinations:connect",
    ]);
    expect((await api.send("PUT", `/v2/members/${id}`, { body })).status).toBe(200);
    // Other fields of a member who has more than the caller may change, and permissions may be
    // taken.
    const rename = await api.send("PUT", `/v2/members/${id}`, { token, body: { name: "Eve" } });
    expect(rename.status).toBe(200);
    // The first sign-in of an account at an OpenID provider finds its member by the address.
    const readdress = { token, body: { email: "eve@example.com" } };
    expect((await api.send("PUT", `/v2/members/${id}`, readdress)).status).toBe(403);
    const take = { editTransformations: false };
    expect((await api.send("PUT", `/v2/members/${id}`, { token, body: take })).status).toBe(200);
    expect((await api.send("PUT", `/v2/members/${id}`, readdress)).status).toBe(200);
  });

  test("a personal token is created by its member, or by callers with all permissions", async () => {
    const own = await addMember({ permissions: ["workspace:admin"] });
    const other = await addMember({});
    const create = async (token: string, memberId: string) =>
      (await api.send("POST", "/v2/tokens", { token, body: { name: "T", memberId } })).status;
    const mine = await personal(own.id);
    expect([await create(mine, own.id), await create(mine, other.id)]).toEqual([201, 403]);
    expect(await create(api.token, other.id)).toBe(201);
  });

  test("a token with an end creates none that ends later, nor does its session", async () => {
    const expiresAt = Date.now() + 3_600_000;
    const limited = { name: "L", permissions: [...permissions], expiresAt };
    const { secret } = await api.catalog.tokens.create(api.workspaceId, limited);
    const signedIn = await api.send("POST", "/v2/session", {
      token: null,
      body: { token: secret },
    });
    const Cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
    const callers = [{ token: secret }, { token: null, headers: { Cookie, Origin: api.url } }];
    const own = new Date(expiresAt).toISOString();
    for (const caller of callers) {
      const create = (end?: number) => {
        const expires = end !== undefined && { expiresAt: new Date(end).toISOString() };
        return api.send("POST", "/v2/tokens", {
          ...caller,
          body: { name: "T", permissions: [], ...expires },
        });
      };
      expect((await create(expiresAt + 1)).status).toBe(403);
      expect((await create(expiresAt)).body.token.expiresAt).toBe(own);
      expect((await create()).body.token.expiresAt).toBe(own);
      expect((await create(expiresAt - 1)).status).toBe(201);
    }
  });

  test("a session of a token without an end creates one without an end", async () => {
    const signedIn = await api.send("POST", "/v2/session", {
      token: null,
      body: { token: api.token },
    });
    const Cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
    const { status, body } = await api.send("POST", "/v2/tokens", {
      token: null,
      headers: { Cookie, Origin: api.url },
      body: { name: "T", permissions: ["events:read"] },
    });
    expect([status, body.token.expiresAt]).toEqual([201, undefined]);
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
    expect(body).toEqual({ message: "The token lacks the permission transformations:edit" });
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
    expect(refused.message).toStartWith("Invalid, expired or revoked token");
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
