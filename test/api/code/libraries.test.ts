import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const transform = "export const transformEvent = (event) => event;";
const input = { name: "Text tools", language: "javascript", code: "export const a = 1;" } as const;

describe("libraries", () => {
  test("answer importName, workspace and times", async () => {
    const { status, body } = await api.send("POST", "/libraries?publish=true", {
      body: { ...input, description: "Words", externalId: "words" },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...input,
      id: expect.any(String),
      versionId: expect.any(String),
      description: "Words",
      importName: "textTools",
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
      workspaceId: api.workspaceId,
      workspace: { id: api.workspaceId, name: "Acme" },
      externalId: "words",
      imports: [],
      isPublished: true,
      wasPublished: true,
      publishedVersionId: expect.any(String),
      createdBy: expect.any(String),
      createdWith: expect.any(String),
    });
    const params = { id: body.id };
    expect(await api.client.call("GET /libraries/{id}", { params })).toEqual(body);
    const { libraries } = await api.client.call("GET /libraries");
    expect(libraries).toContainEqual(body);
    await api.client.call("PUT /libraries/{id}/external-id", {
      params,
      body: { externalId: "w" },
    });
    expect((await api.client.call("GET /libraries/{id}", { params })).externalId).toBe("w");
    await api.client.call("DELETE /libraries/{id}", { params });
    expect((await api.send("GET", `/libraries/${body.id}`)).status).toBe(404);
  });

  test.each(["name", "code", "language"] as const)("cannot be created without %s", async (key) => {
    const { [key]: _, ...rest } = input;
    const { status, body } = await api.send("POST", "/libraries", { body: rest });
    expect([status, body.details[0].path]).toEqual([400, `/${key}`]);
  });

  test.each(["code", "language"] as const)("cannot be updated without %s", async (key) => {
    const { id } = await api.client.call("POST /libraries", { body: input });
    const { [key]: _, name: __, ...rest } = input;
    const { status, body } = await api.send("POST", `/libraries/${id}`, { body: rest });
    expect([status, body.details[0].path]).toEqual([400, `/${key}`]);
  });

  test("keep their name and language", async () => {
    const created = await api.client.call("POST /libraries", { body: input });
    const path = `/libraries/${created.id}`;
    const renamed = await api.send("POST", path, { body: { ...input, name: "Other" } });
    expect([renamed.status, renamed.body.message]).toEqual([400, "Library name cannot be changed"]);
    const translated = await api.send("POST", path, { body: { ...input, language: "python" } });
    expect([translated.status, translated.body.message]).toEqual([
      400,
      "Language cannot be changed",
    ]);
    const updated = await api.send("POST", path, { body: { ...input, code: "" } });
    expect(updated.body).toEqual({
      ...created,
      code: "",
      versionId: updated.body.versionId,
      updatedAt: updated.body.updatedAt,
    });
  });

  test("with the same importName cannot both be published", async () => {
    const first = await api.send("POST", "/libraries?publish=true", {
      body: { ...input, name: "Twin one" },
    });
    const second = await api.send("POST", "/libraries?publish=true", {
      body: { ...input, name: "twin-One" },
    });
    expect([first.status, second.status]).toEqual([200, 409]);
  });

  test("a name without letters or digits has no importName", async () => {
    const { status } = await api.send("POST", "/libraries", { body: { ...input, name: "!!!" } });
    expect(status).toBe(400);
  });
});

describe("POST /libraries/publish", () => {
  async function drafts() {
    const library = await api.client.call("POST /libraries", {
      body: { ...input, name: `Library ${crypto.randomUUID()}` },
    });
    const transformation = await api.client.call("POST /transformations", {
      body: { name: "T", language: "javascript", code: transform },
    });
    return { library, transformation };
  }

  test.each([
    "/libraries/publish",
    "/transformations/publish",
    "/transformations/libraries/publish",
  ])("%s publishes both kinds, and isPublished moves", async (path) => {
    const { library, transformation } = await drafts();
    const versionIds = async () => {
      const { libraryVersions } = await api.client.call("GET /libraries/{id}/versions", {
        params: { id: library.id },
      });
      return libraryVersions.map((it) => it.isPublished);
    };
    expect(await versionIds()).toEqual([false]);
    const { status, body } = await api.send("POST", path, {
      body: {
        transformations: [{ versionId: transformation.versionId, testInput: [{}] }],
        libraries: [library.versionId],
      },
    });
    expect([status, body]).toEqual([200, { published: true }]);
    expect(await versionIds()).toEqual([true]);
    const next = await api.client.call("POST /libraries/{id}", {
      params: { id: library.id },
      query: { publish: true },
      body: { code: "", language: "javascript" },
    });
    expect(await versionIds()).toEqual([false, true]);
    expect(next.versionId).not.toBe(library.versionId);
  });

  test("takes testInput as an array or its JSON text", async () => {
    const { transformation } = await drafts();
    const { versionId } = transformation;
    const publish = (testInput: unknown) =>
      api.send("POST", "/libraries/publish", {
        body: { transformations: [{ versionId, testInput }] },
      });
    expect((await publish([{ a: 1 }])).status).toBe(200);
    expect((await publish('[{"a": 1}]')).status).toBe(200);
    const many = JSON.stringify(Array.from({ length: 501 }, () => ({})));
    for (const bad of ["[", "{}", "[1]", "[[]]", many, 1, {}, [null]]) {
      const { status, body } = await publish(bad);
      expect([bad, status]).toEqual([bad, 400]);
      expect(body.details[0].path).toStartWith("/transformations/0");
    }
  });

  test.each([{}, { transformations: [] }, { transformations: [], libraries: [] }])(
    "refuses %p",
    async (body) => {
      const answer = await api.send("POST", "/libraries/publish", { body });
      expect(answer.status).toBe(400);
      expect(answer.body.message).toBe(
        "Expected at least one item in transformations or libraries, got none",
      );
    },
  );

  test("an unknown versionId is 404 and publishes nothing", async () => {
    const { library, transformation } = await drafts();
    const { status } = await api.send("POST", "/libraries/publish", {
      body: { transformations: [transformation.versionId], libraries: ["unknown"] },
    });
    expect(status).toBe(404);
    // A library's version is not a transformation's.
    const crossed = await api.send("POST", "/libraries/publish", {
      body: { transformations: [library.versionId] },
    });
    expect(crossed.status).toBe(404);
    expect((await api.send("GET", `/transformations/${transformation.id}`)).status).toBe(404);
  });

  test("restores a deleted resource", async () => {
    const { transformation } = await drafts();
    const params = { id: transformation.id };
    await api.client.call("DELETE /transformations/{id}", { params });
    await api.client.call("POST /libraries/publish", {
      body: { transformations: [{ versionId: transformation.versionId }] },
    });
    const found = await api.client.call("GET /transformations/{id}", { params });
    expect(found.versionId).toBe(transformation.versionId);
  });
});
