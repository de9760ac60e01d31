import { afterAll, beforeAll, expect, test } from "bun:test";
import { listCode } from "../../../src/api/routes/code/code-routes.ts";
import { startApi, type TestApi } from "../_setup.ts";

const CODE = "export const transformEvent = (event) => event;";
const LIBRARY = "export const one = 1;";

let api: TestApi;
const ids: Record<string, string> = {};
beforeAll(async () => {
  api = await startApi();
  const create = async (path: string, name: string, code: string) => {
    const body = { name, language: "javascript", description: `About ${name}`, code };
    const { status, body: answer } = await api.send("POST", path, { body });
    expect([name, status]).toEqual([name, 200]);
    ids[name] = answer.id;
  };
  await create("/transformations?publish=true", "Prices", CODE);
  await create("/transformations", "Item 10", CODE);
  await create("/transformations", "Item 9", CODE);
  await create("/libraries?publish=true", "Text tools", LIBRARY);
});
afterAll(() => api.stop());

const list = async (query: string, token = api.token) =>
  (await api.send("GET", `/v2/code?${query}`, { token })).body;
const names = async (query: string) =>
  (await list(query)).code.map(({ name }: { name: string }) => name);

test("code is listed with its state and destinations, without the code itself", async () => {
  const { destination } = (
    await api.send("POST", "/v2/destinations", {
      body: { name: "Hook", type: "webhook", config: { webhookUrl: "http://127.0.0.1:9" } },
    })
  ).body;
  const link = { body: { transformationId: ids.Prices } };
  await api.send("PUT", `/v2/destinations/${destination.id}/transformation`, link);
  const { code, total } = await list("kind=transformation");
  expect(total).toBe(3);
  expect(code[0]).toEqual({
    id: ids.Prices,
    versionId: expect.any(String),
    name: "Prices",
    description: "About Prices",
    language: "javascript",
    isPublished: true,
    updatedAt: expect.any(String),
    destinations: [{ id: destination.id, name: "Hook", enabled: true }],
  });
  expect(code.map(({ isPublished }: { isPublished: boolean }) => isPublished)).toEqual([
    true,
    false,
    false,
  ]);
  const [library] = (await list("kind=library")).code;
  expect(library).toMatchObject({ name: "Text tools", importName: "textTools" });
  expect(library.code ?? library.destinations).toBeUndefined();
});

test("code is searched, sorted and paged by the server", async () => {
  expect(await names("kind=transformation&text=item")).toEqual(["Item 10", "Item 9"]);
  expect(await names(`kind=transformation&text=${ids["Item 9"]}`)).toEqual(["Item 9"]);
  expect(await names("kind=transformation&sort=name")).toEqual(["Item 9", "Item 10", "Prices"]);
  expect(await names("kind=transformation&sort=-name")).toEqual(["Prices", "Item 10", "Item 9"]);
  expect(await names("kind=transformation&sort=-updatedAt&count=1")).toEqual(["Item 9"]);
  const second = await list("kind=transformation&sort=name&count=2&page=2");
  expect([second.code[0].name, second.total]).toEqual(["Prices", 3]);
  const wrong = await api.send("GET", "/v2/code?kind=transformation&sort=code");
  expect(wrong.status).toBe(400);
  expect(await names("text=prices")).toEqual(["Prices"]);
});

test("code of another workspace is not listed", async () => {
  const other = await api.catalog.workspaces.create("Other");
  const token = await api.tokenWith([], other.id);
  expect(await list("kind=transformation", token)).toEqual({ code: [], total: 0 });
});

test("code that a list by external id leaves out takes its turn in the list", () => {
  const { code } = api.catalog;
  const query = { published: false, hasExternalId: true };
  const found = [...listCode(code, api.workspaceId, "transformation", query)];
  expect(found).toStrictEqual([undefined, undefined]);
});
