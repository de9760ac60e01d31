import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";
import { asClient } from "./_ask.ts";

/**
 * RudderStack's rudder-cli, as it works: `apply` makes drafts, reads them back by their version,
 * publishes them in one request with their test suites, and deletes what is gone; `import` reads
 * the workspace. It marshals whole structs and decodes what it reads into plain ones.
 */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const ask = asClient(() => api, "rudder-cli/0.24.0");

/** Fields of a transformation in its structs: a field of another type would not decode. */
function expectDecodes(transformation: Record<string, unknown>): void {
  for (const key of ["id", "versionId", "name", "description", "code", "language", "workspaceId"]) {
    expect([key, typeof transformation[key]]).toEqual([key, "string"]);
  }
  expect(transformation.imports).toBeArray();
  for (const key of ["externalId", "createdBy", "createdAt"]) {
    expect(["string", "undefined"]).toContain(typeof transformation[key]);
  }
}

const library = {
  name: "Math Tools",
  description: "",
  code: "export const double = (n) => 2 * n;",
  language: "javascript",
  externalId: "math-tools",
};
const transformation = {
  name: "Doubler",
  description: "Doubles n",
  code: "import { double } from 'mathTools';\nexport const transformEvent = (e) => ({ n: double(e.n) });",
  language: "javascript",
  externalId: "doubler",
};
/** Its newest structs give a suite a name and no id. */
const suite = (expected: number) => [
  {
    name: "doubles",
    description: "two becomes four",
    input: [{ type: "track", n: 2 }],
    expectedOutput: [{ n: expected }],
  },
];

describe("apply", () => {
  test("creates drafts, tests and publishes them together, updates and deletes", async () => {
    for (const path of ["/v2/workspace", "/v2/accounts?hasExternalId=true", "/libraries"]) {
      await ask("GET", path);
    }
    const lib = await ask("POST", "/libraries?publish=false", library);
    const code = await ask("POST", "/transformations?publish=false", transformation);
    const read = await ask("GET", `/transformations/${code.id}/versions/${code.versionId}`);
    for (const answer of [code, read]) {
      expectDecodes(answer);
      expect([answer.imports, answer.externalId]).toEqual([["mathTools"], "doubler"]);
    }
    expect(read.isPublished).toBe(false);

    const request = (expected: number) => ({
      transformations: [{ versionId: code.versionId, testSuite: suite(expected) }],
      libraries: [{ versionId: lib.versionId }],
    });
    // A suite whose output differs stops the publish, with 200 and everything about it.
    const refused = await ask("POST", "/transformations/publish", request(5));
    expect(refused.published).toBe(false);
    const [validation] = refused.validationOutput.transformations;
    expect(validation.testResult).toMatchObject({
      status: "fail",
      results: [
        {
          name: "doubles",
          description: "two becomes four",
          status: "fail",
          actualOutput: [{ n: 4 }],
        },
      ],
    });
    expect((await ask("GET", "/transformations")).transformations).toEqual([]);

    expect(await ask("POST", "/transformations/tests/run", request(4))).toMatchObject({
      pass: true,
      validationOutput: { transformations: [{ testResult: { results: [{ name: "doubles" }] } }] },
    });
    expect(await ask("POST", "/transformations/publish", request(4))).toEqual({ published: true });
    const { transformations } = await ask("GET", "/transformations");
    expect(transformations).toMatchObject([{ ...transformation, imports: ["mathTools"] }]);
    expectDecodes(transformations[0]);
    const live = await ask("GET", `/transformations/${code.id}/versions/${code.versionId}`);
    expect(live.isPublished).toBe(true);

    const { externalId: _, ...change } = { ...transformation, description: "Twice n" };
    const next = await ask("POST", `/transformations/${code.id}?publish=false`, change);
    expect([next.imports, next.externalId]).toEqual([["mathTools"], "doubler"]);
    await ask("PUT", `/transformations/${code.id}/external-id`, { externalId: "twice" });
    expect((await ask("GET", `/transformations/${code.id}`)).externalId).toBe("twice");
    for (const path of [`/transformations/${code.id}`, `/libraries/${lib.id}`]) {
      await ask("DELETE", path);
    }
  });

  test("sends an empty external id for unmanaged items", async () => {
    for (const [path, body] of [
      ["/transformations?publish=false", { ...transformation, externalId: "" }],
      ["/libraries?publish=false", { ...library, externalId: "" }],
    ] as const) {
      expect(await ask("POST", path, body)).not.toHaveProperty("externalId");
    }
  });
});

describe("import", () => {
  const code = "def transformEvent(event, metadata):\n    import json\n    return event\n";
  const drafts = (language: string) => ({ name: `In ${language}`, language, code });

  test("answers Python as it was sent, `pythonfaas` by default", async () => {
    for (const language of ["pythonfaas", "python"]) {
      const made = await ask("POST", "/transformations", drafts(language));
      expect([made.language, made.imports]).toEqual([language, ["json"]]);
    }
  });

  test("reads `python` in every answer with api.python", async () => {
    const other = await startApi({ python: "python" });
    const { body } = await other.send("POST", "/transformations", { body: drafts("pythonfaas") });
    expect(body.language).toBe("python");
    const listed = await other.send("GET", "/transformations?published=false");
    expect(listed.body.transformations.map((it: any) => it.language)).toEqual(["python"]);
    // It sends this language back unchanged.
    const { status } = await other.send("POST", `/transformations/${body.id}`, {
      body: { language: "python", code },
    });
    expect(status).toBe(200);
    await other.stop();
  });
});

test("its sources are those of the workspace", async () => {
  const path = "/v2/event-stream-sources";
  const wanted = { externalId: "shop", name: "Shop", type: "Javascript", enabled: true };
  const made = await ask("POST", path, wanted);
  expect(made).toMatchObject(wanted);
  expect((await ask("GET", path)).data).toEqual([made]);
  expect((await ask("GET", `${path}?hasExternalId=false`)).data).toEqual([]);
  const renamed = await ask("PUT", `${path}/${made.id}`, { name: "Store", enabled: false });
  expect(renamed).toMatchObject({ ...wanted, name: "Store", enabled: false });
  expect(await ask("GET", `${path}/${made.id}`)).toEqual(renamed);
  expect((await ask("GET", `/v2/sources/${made.id}`)).source).toEqual(renamed);

  const { source } = await ask("POST", "/v2/sources", { name: "Other" });
  await ask("PUT", `${path}/${source.id}/external-id`, { externalId: "other" });
  expect((await ask("GET", path)).data.map((it: any) => it.externalId)).toEqual(["shop", "other"]);

  const { secret } = (
    await ask("POST", "/v2/tokens", { name: "code", permissions: ["transformations:edit"] })
  ).token;
  const seen = await api.send("GET", path, { headers: { Authorization: `Bearer ${secret}` } });
  expect([seen.status, seen.body.data]).toEqual([200, []]);

  for (const id of [made.id, source.id]) await ask("DELETE", `${path}/${id}`);
  expect((await ask("GET", path)).data).toEqual([]);
});
