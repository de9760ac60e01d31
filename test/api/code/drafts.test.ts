import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const code = "export const transformEvent = (event) => event;";

describe.each([
  ["/transformations", "transformations", "TransformationVersions"],
  ["/libraries", "libraries", "libraryVersions"],
] as const)("code at %s", (path, key, versionsKey) => {
  const create = (name: string, publish: boolean) =>
    api.send("POST", `${path}?publish=${publish}`, {
      body: { name, language: "javascript", code },
    });
  const names = async (query: string) =>
    (await api.send("GET", `${path}${query}`)).body[key].map((it: any) => it.name);

  test("a draft is found again by its id and in a list, until it is published or deleted", async () => {
    const { body: draft } = await create("Draft", false);
    const { body: live } = await create("Live", true);
    const hidden = await api.send("GET", `${path}/${draft.id}`);
    expect([hidden.status, hidden.body.message]).toEqual([
      404,
      expect.stringMatching(/ is not published: draft=true /),
    ]);
    const found = await api.send("GET", `${path}/${draft.id}?draft=true`);
    expect([found.status, found.body.versionId, found.body.isPublished]).toEqual([
      200,
      draft.versionId,
      false,
    ]);
    expect([await names(""), await names("?published=true")]).toEqual([["Live"], ["Live"]]);
    expect(await names("?published=false")).toEqual(["Draft"]);

    // The draft of published code is its newer revision.
    const { body: newer } = await api.send("POST", `${path}/${live.id}`, {
      body: { language: "javascript", code: `${code} // newer` },
    });
    const ofLive = async (query: string) =>
      (await api.send("GET", `${path}/${live.id}${query}`)).body.versionId;
    expect([await ofLive(""), await ofLive("?draft=true")]).toEqual([
      live.versionId,
      newer.versionId,
    ]);

    const item = { versionId: draft.versionId };
    await api.send("POST", "/libraries/publish", { body: { [key]: [item] } });
    expect([await names(""), await names("?published=false")]).toEqual([["Draft", "Live"], []]);
    const { body: gone } = await create("Gone", false);
    await api.send("DELETE", `${path}/${gone.id}`);
    expect(await names("?published=false")).toEqual([]);
    expect((await api.send("GET", `${path}/${gone.id}?draft=true`)).status).toBe(404);
    expect((await api.send("GET", `${path}/${gone.id}?draft=yes`)).status).toBe(400);
    expect((await api.send("GET", `${path}?published=no`)).status).toBe(400);
  });

  test("drafts of another workspace are not there", async () => {
    const { body: draft } = await create("Mine", false);
    const other = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith([], other.id);
    const seen = await api.send("GET", `${path}/${draft.id}?draft=true`, { token });
    expect(seen.status).toBe(404);
    const { body } = await api.send("GET", `${path}?published=false`, { token });
    expect(body[key]).toEqual([]);
  });

  test("versions say which one is live, and who made each with which token", async () => {
    const { catalog, workspaceId } = api;
    const member = await catalog.members.create(workspaceId, {
      name: "Ada",
      email: "ada@example.com",
      permissions: ["transformations:edit", "libraries:edit"],
    });
    const personal = await catalog.tokens.create(workspaceId, {
      name: "Ada's",
      permissions: [],
      memberId: member.id,
    });
    const { body: made } = await create("Made", true);
    await api.send("POST", `${path}/${made.id}`, {
      body: { language: "javascript", code },
      token: personal.secret,
    });
    const { body } = await api.send("GET", `${path}/${made.id}/versions`);
    const [first, second] = body[versionsKey];
    expect([first.isPublished, second.isPublished]).toEqual([true, false]);
    expect(first.createdBy).toBe(first.createdWith);
    const { items } = catalog.tokens.list(workspaceId, 1);
    expect(items.map(({ id }) => id)).toContain(first.createdBy);
    expect([second.createdBy, second.createdWith]).toEqual([member.id, personal.token.id]);
  });
});
