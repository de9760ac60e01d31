import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually, hasty, PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const run = async (body: Parameters<typeof send>[0]) => (await send(body)).body;
const send = (body: object) => api.send("POST", "/v2/run", { body });
/** Everything that a workspace has of code. */
const stored = async () =>
  Promise.all(
    ["/transformations", "/libraries"].flatMap((path) =>
      ["", "?published=false"].map(async (query) => (await api.send("GET", path + query)).body),
    ),
  );

describe("unsaved code", () => {
  test("runs over events and is not saved", async () => {
    const before = await stored();
    const code = `export function transformEvent(event, metadata) {
      log("saw", event.n);
      if (event.n === 1) return null;
      if (event.n === 2) return [event, { ...event, copy: true }];
      if (event.n === 3) throw new Error("three");
      return { ...event, of: metadata(event).sourceName };
    }`;
    const events = [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }].map((event, at) => ({
      ...event,
      messageId: `m${at}`,
    }));
    const metadata = [{ sourceName: "Shop" }];
    const answer = await run({ language: "javascript", name: "My T", code, events, metadata });
    expect(answer).toEqual({
      imports: [],
      results: [
        { event: events[0], outputs: [{ ...events[0], of: "Shop" }] },
        { event: events[1], outputs: [] },
        { event: events[2], outputs: [events[2], { ...events[2], copy: true }] },
        {
          event: events[3],
          error: {
            message: "Error: three\n    at transformEvent (My T:5:32)",
            line: 5,
            column: expect.any(Number),
          },
        },
      ],
      logs: [0, 1, 2, 3].map((n) => ({ text: `Log: saw ${n}`, event: n, line: 2 })),
    });
    expect(await stored()).toEqual(before);
  });

  test("runs over a page and a track when there are no events", async () => {
    const code = "export const transformEvent = (event) => ({ type: event.type });";
    const { results } = await run({ language: "javascript", code });
    expect(results.map(({ outputs }: any) => outputs)).toEqual([
      [{ type: "page" }],
      [{ type: "track" }],
    ]);
    expect(results[0].event.type).toBe("page");
  });

  test("answers the line where it fails to load", async () => {
    const answer = await run({ language: "javascript", code: "export const x = ;\n" });
    expect(answer).toEqual({
      error: { message: "SyntaxError: Unexpected token ';' [code:1:18]", line: 1, column: 18 },
      imports: [],
      results: [],
      logs: [],
    });
  });

  test("imports published libraries, or the drafts in the request", async () => {
    const published = "export const f = () => 'published';";
    const library = { name: "Run lib", language: "javascript", code: published } as const;
    await api.client.call("POST /libraries", { query: { publish: true }, body: library });
    const code = `import { f } from "runLib";\nexport const transformEvent = () => ({ f: f() });`;
    const events = [{ n: 1 }];
    const outputs = async (libraries: { name: string; code: string }[]) =>
      run({ language: "javascript", code, events, libraries });
    expect((await outputs([])).results[0].outputs).toEqual([{ f: "published" }]);
    const drafts = [{ name: "runLib", code: "export const f = () => 'draft';" }];
    const drafted = await outputs(drafts);
    expect([drafted.imports, drafted.results[0].outputs]).toEqual([["runLib"], [{ f: "draft" }]]);
    const thrown = [{ name: "Run lib", code: "\nexport const f = () => { throw Error('x'); };" }];
    expect((await outputs(thrown)).results[0].error).toMatchObject({ line: 2, library: "runLib" });
    const broken = await outputs([{ name: "Run lib", code: "export const f = ;" }]);
    expect(broken.error).toMatchObject({ line: 1, library: "runLib" });
    const [first] = drafts;
    expect((await send({ language: "javascript", libraries: [first, first] })).status).toBe(409);
  });

  test("may be a library alone, which is loaded", async () => {
    const load = (code: string) =>
      run({ language: "javascript", libraries: [{ name: "Lib", code }] });
    expect(await load("export const f = 1;")).toEqual({ imports: [], results: [], logs: [] });
    expect((await load("export const f = ;")).error).toMatchObject({ library: "lib", line: 1 });
  });

  test("runs in Python too", async () => {
    const code = [
      "import tools",
      "def transformEvent(event, metadata):",
      '    log("n", event["n"])',
      '    return {"n": tools.double(event["n"])}',
    ].join("\n");
    const answer = await run({
      language: "pythonfaas",
      code,
      libraries: [{ name: "tools", code: "def double(n):\n    return 2 * n" }],
      events: [{ n: 2 }, {}],
    });
    expect(answer).toMatchObject({
      imports: ["tools"],
      results: [{ outputs: [{ n: 4 }] }, { error: { line: 3 } }],
      logs: [{ text: "Log: n 2", event: 0, line: 3 }],
    });
    const unimportable = { language: "pythonfaas", libraries: [{ name: "1 x", code: "" }] };
    expect((await send(unimportable)).status).toBe(400);
  });

  test("reads the credentials of its workspace only", async () => {
    const { id } = await api.catalog.workspaces.create("Stranger");
    await api.catalog.credentials.put(id, "KEY", "theirs");
    await api.catalog.credentials.put(api.workspaceId, "OWN", "ours");
    const code = `export const transformEvent = () =>
      ({ own: getCredential("OWN"), theirs: getCredential("KEY") ?? null });`;
    const { results } = await run({ language: "javascript", code, events: [{}] });
    expect(results[0].outputs).toEqual([{ own: "ours", theirs: null }]);
  });
});

test("a run has the bounds of a test", async () => {
  const strict = await startApi({}, { guestLimits: hasty });
  const code = "export function transformEvent() { for (;;); }";
  const body = { language: "javascript", code, events: [{}, {}] };
  const { results } = (await strict.send("POST", "/v2/run", { body })).body;
  const endless = "Script execution timed out.";
  expect(results.map(({ error }: any) => error.message)).toEqual([endless, endless]);
  await strict.stop();
});

const wrong: [string, object][] = [
  ["neither code nor libraries", { language: "javascript" }],
  ["another language", { language: "ruby", code: "" }],
  ["events that are none", { language: "javascript", code: "", events: [1] }],
  ["a library without a name", { language: "javascript", libraries: [{ code: "" }] }],
  ["a library without letters", { language: "javascript", libraries: [{ name: "-", code: "" }] }],
];
test.each(wrong)("a run with %s is refused with 400", async (_, body) => {
  expect((await send(body)).status).toBe(400);
});

test("a token needs the permission for the code that it runs", async () => {
  const editor = await api.tokenWith(["transformations:edit"]);
  const librarian = await api.tokenWith(["libraries:edit"]);
  const code = { language: "javascript", code: "export const transformEvent = (e) => e;" };
  const libraries = { language: "javascript", libraries: [{ name: "L", code: "" }] };
  const status = async (token: string, body: object) =>
    (await api.send("POST", "/v2/run", { token, body })).status;
  expect(await status(editor, code)).toBe(200);
  expect(await status(librarian, libraries)).toBe(200);
  expect(await status(librarian, code)).toBe(403);
  expect(await status(editor, { ...code, ...libraries })).toBe(403);
  await eventually(() => api.failures().length === 0);
});
