import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { REVISION_NOTE_CHARS_MAX } from "../../../src/settings/limits.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

/** Publish tests and test runs as a client sees them, with user code in real guests. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const javascript = { name: "T", language: "javascript" } as const;

const create = (code: string, more: object = {}, query = "?publish=true") =>
  api.send("POST", `/transformations${query}`, { body: { ...javascript, code, ...more } });

async function draft(code: string, name = "T"): Promise<{ id: string; versionId: string }> {
  return api.client.call("POST /transformations", {
    body: { name, language: "javascript", code },
  });
}

async function library(name: string, code: string, publish: boolean) {
  return api.client.call("POST /libraries", {
    query: { publish },
    body: { name, language: "javascript", code },
  });
}

describe("?publish=true", () => {
  test("with code that drops every test event warns", async () => {
    const { status, body } = await create("export function transformEvent(event) {}");
    expect(status).toBe(200);
    const warnings = ["T: the code drops every test event; does it return it?"];
    expect(body.warnings).toEqual(warnings);
    const transformations = [{ versionId: body.versionId, testInput: [{ type: "page" }] }];
    for (const path of ["/libraries/publish", "/transformations/publish"]) {
      const again = await api.send("POST", path, { body: { transformations } });
      expect([again.status, again.body]).toEqual([200, { published: true, warnings }]);
    }
    const shown = await api.client.call("GET /transformations/{id}", { params: { id: body.id } });
    expect(shown).not.toHaveProperty("warnings");
  });

  test("with code that throws is 400, says where, and stores nothing", async () => {
    const before = await api.client.call("GET /transformations");
    const { status, body } = await create(
      "export function transformEvent(event) {\n  return event.nothing.here;\n}",
      { events: [{ nothing: { here: {} } }, {}] },
    );
    expect(status).toBe(400);
    expect(body.details).toEqual([
      { path: "/events/1", message: expect.stringContaining("TypeError"), line: 2, column: 24 },
    ]);
    expect(await api.client.call("GET /transformations")).toEqual(before);
  });

  test.each([
    ["does not parse", "export function transformEvent(event) {\n  return (;\n}", 2],
    ["does not load", "\n\nthrow new Error('at load');", 3],
    ["exports nothing", "const a = 1;", undefined],
    [
      "imports what is not published",
      "import a from 'nowhere';\nexport const transformEvent = a;",
      1,
    ],
  ])("with code that %s is 400", async (_, code, line) => {
    const { status, body } = await create(code);
    expect([status, body.details.length, body.details[0].path]).toEqual([400, 1, "/code"]);
    if (line) expect(body.details[0].line ?? line).toBe(line);
  });

  test("of an update leaves the published revision as it was", async () => {
    const { body: first } = await create("export const transformEvent = (event) => event;");
    const path = `/transformations/${first.id}`;
    const { status } = await api.send("POST", `${path}?publish=true`, {
      body: { code: "throw 1" },
    });
    expect(status).toBe(400);
    expect((await api.send("GET", path)).body.versionId).toBe(first.versionId);
    const versions = await api.send("GET", `${path}/versions`);
    expect(versions.body.TransformationVersions).toHaveLength(1);
  });

  test("a single event object counts as an array with that event", async () => {
    const code = "export const transformEvent = (event) => { if (!event.mine) throw 'not mine'; };";
    expect((await create(code, { events: { mine: true } })).status).toBe(200);
    expect((await create(code)).status).toBe(400);
  });
});

test("without test events code runs over the default ones, however they are left out", async () => {
  const code = "export const transformEvent = () => { throw 'always'; };";
  for (const events of [undefined, []]) {
    expect((await create(code, { events })).status).toBe(400);
  }
  const { versionId } = await draft(code);
  const forms = [
    {},
    { testInput: [] },
    { testInput: "[]" },
    { testSuite: [] },
    { testSuite: [{ id: "s", name: "S", input: [] }] },
  ];
  for (const more of forms) {
    const body = { transformations: [{ versionId, ...more }] };
    const published = await api.client.call("POST /transformations/publish", { body });
    expect([more, published.published]).toEqual([more, false]);
    const run = await api.client.call("POST /transformations/tests/run", { body });
    expect([more, run.pass]).toEqual([more, false]);
    const { result } = await api.client.call("POST /transformations/libraries/test", { body });
    const outputs = result.failedTestResults[0]!.result.output.transformedEvents;
    expect([more, outputs]).toEqual([more, [{ error: "always" }, { error: "always" }]]);
  }
}, 300_000);

test("test events as a text nest no deeper than any other JSON", async () => {
  const { versionId } = await draft("export const transformEvent = (event) => event;");
  const nested = (levels: number) => `[{"a": ${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}}]`;
  for (const path of [
    "/libraries/publish",
    "/transformations/publish",
    "/transformations/libraries/test",
    "/transformations/tests/run",
  ]) {
    for (const [levels, expected] of [
      [64, 200],
      [65, 400],
      [100_000, 400],
      [1_000_000, 400],
    ] as const) {
      const body = { transformations: [{ versionId, testInput: nested(levels) }] };
      const { status } = await api.send("POST", path, { body });
      expect([path, levels, status]).toEqual([path, levels, expected]);
    }
  }
}, 300_000);

describe("POST /libraries/publish", () => {
  test("answers 400 and published: false with what failed, and publishes nothing", async () => {
    const good = await draft("export const transformEvent = (event) => event;", "Good");
    const bad = await draft("export const transformEvent = () => 'text';", "Bad");
    const { status, body } = await api.send("POST", "/libraries/publish", {
      body: { transformations: [good.versionId, { versionId: bad.versionId, testInput: [{}] }] },
    });
    expect([status, body.published, body.message]).toEqual([
      400,
      false,
      "Some of the code does not pass its tests",
    ]);
    const [first, second] = body.validationOutput.transformations;
    expect([first.pass, second.pass, second.testResult.status]).toEqual([true, false, "error"]);
    expect(second.testResult.results[0].errors[0]).toMatchObject({
      message: "returned event from transformEvent(event) is not an object",
      event: {},
      eventIndex: 0,
    });
    expect((await api.send("GET", `/transformations/${good.id}`)).status).toBe(404);
  });

  test("takes rudder-cli's suites: their inputs are the test events", async () => {
    const code = "export const transformEvent = (event) => { if (!event.mine) throw 'not mine'; };";
    const { versionId } = await draft(code);
    const publish = async (input: Record<string, unknown>) => {
      const testSuite = [{ id: "s", name: "S", input: [input] }];
      const body = { transformations: [{ versionId, testSuite }] };
      return (await api.client.call("POST /transformations/publish", { body })).published;
    };
    expect([await publish({}), await publish({ mine: true })]).toEqual([false, true]);
  });

  test("tests the importers of a library with its new code", async () => {
    const lib = await library("Adder", "export const add = (a, b) => a + b;", true);
    const code =
      "import { add } from 'adder';\nexport const transformEvent = (e) => ({ n: add(1, 2) });";
    const { body: importer } = await create(code, { name: "Importer" });
    expect(importer.imports).toEqual(["adder"]);
    const broken = await api.send("POST", `/libraries/${lib.id}?publish=true`, {
      body: { language: "javascript", code: "export const sum = 1;" },
    });
    expect(broken.status).toBe(400);
    expect(broken.body.details[0].message).toContain("Importer");
    const removed = await api.send("DELETE", `/libraries/${lib.id}`);
    expect(removed.status).toBe(409);
    expect(removed.body.message).toContain("Importer");
    await api.client.call("DELETE /transformations/{id}", { params: { id: importer.id } });
    expect((await api.send("DELETE", `/libraries/${lib.id}`)).status).toBe(200);
  });
});

describe.each([
  "/libraries/publish",
  "/transformations/libraries/test",
  "/transformations/tests/run",
])("%s with a wrong item", (path) => {
  const id = "a string of 1 to 255 characters";
  test.each([
    [{ libraries: [{ versionId: 5 }] }, "/libraries/0/versionId", id, "a number"],
    [{ libraries: [{}] }, "/libraries/0/versionId", id, "nothing"],
    [{ libraries: [5] }, "/libraries/0", `${id} or an object`, "a number"],
    [
      { transformations: ["v", { versionId: "v", testInput: [{}, 5] }] },
      "/transformations/1/testInput/1",
      "an object",
      "a number",
    ],
    [
      { transformations: [{ versionId: "v", testInput: {} }] },
      "/transformations/0/testInput",
      "an array of at most 500 items or a string",
      "an object",
    ],
    [
      { transformations: [{ versionId: "v", testSuite: [{ id: "s", name: "S" }] }] },
      "/transformations/0/testSuite/0/input",
      "an array of at most 500 items",
      "nothing",
    ],
  ])("%j names the place and the fault", async (body, place, expected, came) => {
    const refused = await api.send("POST", path, { body });
    expect(refused.status).toBe(400);
    expect(refused.body).toEqual({
      message: `Expected ${expected} at ${place}, got ${came}`,
      details: [{ path: place, message: `Expected ${expected}, got ${came}` }],
    });
  });
});

describe("test runs", () => {
  test("POST /transformations/libraries/test runs drafts with unpublished libraries", async () => {
    const lib = await library(
      "Draft words",
      "export const up = (text) => text.toUpperCase();",
      false,
    );
    const one = await draft(
      "import { up } from 'draftWords';\n" +
        "export function transformEvent(event) { log('saw', event.a); return { a: up(event.a) }; }",
    );
    const two = await draft("not code", "Broken");
    const { result } = await api.client.call("POST /transformations/libraries/test", {
      body: {
        transformations: [
          { versionId: one.versionId, testInput: [{ a: "x" }, { a: 1 }] },
          { versionId: two.versionId },
        ],
        libraries: [{ versionId: lib.versionId }],
      },
    });
    expect(result.successTestResults).toEqual([]);
    expect(result.failedTestResults).toEqual([
      {
        transformerVersionID: one.versionId,
        id: one.id,
        name: "T",
        result: {
          ...result.failedTestResults[0]?.result,
          error: expect.stringContaining("TypeError"),
          output: {
            transformedEvents: [{ a: "X" }, { error: expect.stringContaining("TypeError") }],
            logs: ["Log: saw x", "Log: saw 1"],
          },
        },
      },
      {
        transformerVersionID: two.versionId,
        id: two.id,
        name: "Broken",
        result: expect.objectContaining({ output: { transformedEvents: [], logs: [] } }),
      },
    ]);
    expect((await api.send("GET", `/transformations/${one.id}`)).status).toBe(404);
  });

  test("POST /transformations/tests/run compares with the expected output", async () => {
    const { versionId } = await draft(
      "export const transformEvent = (event) => ({ n: event.n + 1 });",
    );
    const run = (expected: number) =>
      api.client.call("POST /transformations/tests/run", {
        body: {
          transformations: [
            {
              versionId,
              testSuite: [
                { id: "s", name: "Counts", input: [{ n: 1 }], expectedOutput: [{ n: expected }] },
              ],
            },
          ],
        },
      });
    const passed = await run(2);
    expect([passed.pass, passed.validationOutput.transformations[0]?.testResult.status]).toEqual([
      true,
      "pass",
    ]);
    const failed = await run(3);
    const [result] = failed.validationOutput.transformations[0]!.testResult.results;
    expect([failed.pass, result?.status, result?.actualOutput]).toEqual([
      false,
      "fail",
      [{ n: 2 }],
    ]);
  });

  test.each(["/transformations/libraries/test", "/libraries/test", "/transformations/tests/run"])(
    "%s does not know every versionId, and wants one",
    async (path) => {
      const unknown = await api.send("POST", path, { body: { transformations: ["unknown"] } });
      expect(unknown.status).toBe(404);
      expect((await api.send("POST", path, { body: {} })).status).toBe(400);
    },
  );
});

describe("a note", () => {
  const code = "export const transformEvent = (event) => event";
  const entriesOf = async (id: string) => {
    const { body } = await api.send("GET", `/v2/audit?resource=${id}`);
    return body.entries as { action: string; changes: { path: string; after?: string }[] }[];
  };

  test("of a save or a publish is with its revision, and in the audit log with that change alone", async () => {
    const first = (await create(code, { note: "  First try " })).body;
    const path = `/transformations/${first.id}`;
    const saved = await api.send("POST", path, { body: { code: `${code};`, note: "Ends lines" } });
    const publish = (versionId: string, more: object = {}) =>
      api.send("POST", "/libraries/publish", {
        body: { transformations: [{ versionId }], ...more },
      });
    await publish(saved.body.versionId, { note: " " });
    await publish(first.versionId, { note: "Breaks the CRM" });
    await api.send("PUT", `${path}/external-id`, { body: { externalId: "noted" } });
    await publish(saved.body.versionId, { note: "Works again" });
    await api.send("DELETE", path);
    const { TransformationVersions } = await api.client.call("GET /transformations/{id}/versions", {
      params: { id: first.id },
    });
    const notes = new Map(TransformationVersions.map(({ versionId, note }) => [versionId, note]));
    expect(notes).toEqual(
      new Map([
        [first.versionId, "Breaks the CRM"],
        [saved.body.versionId, "Works again"],
      ]),
    );
    const noted = (await entriesOf(first.id)).map(({ action, changes }) => {
      const note = changes.find((change) => change.path === "note");
      return [action.split(".")[1], note?.after];
    });
    expect(noted).toEqual([
      ["delete", undefined],
      ["publish", "Works again"],
      ["update", undefined],
      ["roll-back", "Breaks the CRM"],
      ["publish", undefined],
      ["update", "Ends lines"],
      ["publish", "First try"],
    ]);
  });

  test("of a library is kept too, and the same note twice is in the audit log twice", async () => {
    const body = { name: "Noted library", language: "javascript", code: "export const a = 1;" };
    const first = await api.send("POST", "/libraries", { body: { ...body, note: "Nightly" } });
    const { id } = first.body;
    const change = { language: "javascript", code: "export const a = 2;", note: "Nightly" };
    const second = await api.send("POST", `/libraries/${id}?publish=true`, { body: change });
    expect([first.body.note, second.body.note]).toEqual(["Nightly", "Nightly"]);
    const notes = (await entriesOf(id)).map(
      ({ changes }) => changes.find(({ path }) => path === "note")?.after,
    );
    expect(notes).toEqual(["Nightly", "Nightly"]);
  });

  test("that is too long is refused, and none leaves answers as they were", async () => {
    const note = "x".repeat(REVISION_NOTE_CHARS_MAX + 1);
    const { status, body } = await create(code, { note });
    expect([status, body.details[0].path]).toEqual([400, "/note"]);
    expect((await create(code)).body).not.toHaveProperty("note");
  });
});
