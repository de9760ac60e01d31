import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeCode } from "../../src/cli/code/code-directory.ts";
import type { CodeContent } from "../../src/cli/code/code-item.ts";
import { inProcess, type Sent, startAnswers } from "./in-process.ts";

const base = mkdtempSync(join(tmpdir(), "pixelmill-test-commands-"));
let roots = 0;
let root = "";

const tools: CodeContent = {
  ...{ kind: "library", name: "Tools", description: "", language: "javascript", tests: [] },
  code: "export const a = 1;\n",
};
const shout: CodeContent = {
  ...{ kind: "transformation", name: "Shout", description: "Loud", language: "javascript" },
  code: "export const transformEvent = (event) => event;\n",
  tests: [{ name: "A title", input: [{ type: "page" }], expectedOutput: [] }],
};
/** Code of the server by id, published unless it has been changed. */
const stored = new Map<string, CodeContent & { isPublished: boolean }>();
const refusals = new Map<string, Response>();
let published: unknown = { published: true };
let report: unknown;
/** Number of items that the total of a list counts, and no page has. */
let deleted = 0;

const foldersOf = { library: "libraries", transformation: "transformations" };
const answers: Record<string, (sent: Sent) => unknown> = {
  "GET /v2/workspace": () => ({ workspace: { id: "w" } }),
  "GET /v2/code": ({ query }) => {
    const code = [...stored].filter(([, it]) => it.kind === query.kind).map(([id]) => ({ id }));
    // A page has one item, and code may be deleted while its list is read.
    const at = Number(query.page) - 1;
    return { code: code.slice(at, at + 1), total: code.length + deleted };
  },
  "POST /libraries": ({ body }) => create("library", body),
  "POST /transformations": ({ body }) => create("transformation", body),
  "POST /transformations/publish": () => published,
  "POST /v2/run": () => report,
};
const server = startAnswers(answers);
afterAll(() => {
  server[Symbol.dispose]();
  rmSync(base, { recursive: true });
});

/** Adds code to the server, with the routes that read and change it. */
function store(id: string, content: CodeContent, isPublished = true): void {
  stored.set(id, { ...content, isPublished });
  const path = `/${foldersOf[content.kind]}/${id}`;
  answers[`GET ${path}`] = ({ query }) => {
    const { tests: _, kind: __, ...it } = stored.get(id)!;
    if (query.draft !== "true") it.code = "published";
    return Response.json({ ...it, id, versionId: `v-${id}` }, { headers: { etag: `"${id}"` } });
  };
  answers[`POST ${path}`] = ({ body }) => {
    const refusal = refusals.get(id);
    if (refusal !== undefined) return refusal;
    stored.set(id, { ...stored.get(id)!, ...(body as object), isPublished: false });
    return { id };
  };
  const cases = `/v2${path}/test-cases`;
  answers[`GET ${cases}`] = () => ({
    testCases: stored.get(id)!.tests.map((it, at) => ({ id: `${at}`, versionId: "1", ...it })),
  });
  answers[`POST ${cases}`] = ({ body }) => {
    stored.get(id)!.tests.push(body as CodeContent["tests"][number]);
    return { id: "new" };
  };
}

function create(kind: CodeContent["kind"], body: unknown) {
  const id = `new-${kind}`;
  store(id, { ...(body as CodeContent), kind, tests: [] }, false);
  return { id };
}

const piped = inProcess(server);
const inTerminal = inProcess(server, true);
const changes = () => server.sent.map(({ route }) => route).filter((it) => !it.startsWith("GET"));

beforeEach(() => {
  root = join(base, `${++roots}`);
  mkdirSync(root);
  stored.clear();
  refusals.clear();
  published = { published: true };
  server.sent.length = 0;
});

describe("pull", () => {
  test("writes what the server has, and twice changes nothing", async () => {
    store("l", tools);
    store("t", shout);
    const dry = await piped(["pull", root, "--dry-run"]);
    expect(dry.output).toBe(
      "libraries/tools: only on the server\ntransformations/shout: only on the server\n2 items to write\n",
    );
    expect(existsSync(join(root, "libraries"))).toBe(false);
    expect(existsSync(join(root, ".pixelmill-state.json"))).toBe(false);
    const { code, output } = await piped(["pull", root]);
    expect([code, output]).toEqual([0, dry.output.replace("to write", "written")]);
    expect(readFileSync(join(root, "libraries/tools/code.js"), "utf8")).toBe(tools.code);
    const again = await piped(["pull", root]);
    expect([again.code, again.output]).toEqual([0, "0 items written\n"]);
    expect(changes()).toEqual([]);
  });

  test("reads lists page by page, to the end of one that became shorter", async () => {
    deleted = 1;
    store("l", tools);
    store("m", { ...tools, name: "More", language: "python", description: "Text" });
    const { output } = await piped(["pull", root]);
    expect(output).toBe(
      "libraries/more: only on the server\nlibraries/tools: only on the server\n2 items written\n",
    );
    expect(existsSync(join(root, "libraries/more/code.py"))).toBe(true);
    const metadata = readFileSync(join(root, "libraries/more/library.json"), "utf8");
    expect(metadata).toBe('{\n  "name": "More",\n  "description": "Text"\n}\n');
    deleted = 0;
  });

  test("keeps what was changed here, and fails when the server has changed it, too", async () => {
    store("l", tools);
    await piped(["pull", root]);
    const changed = { ...tools, code: "changed\n" };
    writeCode(root, { path: "libraries/tools", content: changed });
    const mine = await piped(["pull", root]);
    expect([mine.code, mine.output]).toEqual([
      0,
      "libraries/tools: changed here; kept\n0 items written\n",
    ]);
    store("l", { ...tools, code: "other\n" });
    const both = await piped(["pull", root]);
    expect([both.code, both.output]).toEqual([
      1,
      "libraries/tools: changed here and on the server; kept\n0 items written\n",
    ]);
    const over = await piped(["pull", root, "--overwrite"]);
    expect([over.code, over.output]).toEqual([
      0,
      "libraries/tools: changed here and on the server\n1 item written\n",
    ]);
    expect(readFileSync(join(root, "libraries/tools/code.js"), "utf8")).toBe("other\n");
    writeCode(root, { path: "transformations/shout", content: shout });
    const again = await piped(["pull", root, "--overwrite"]);
    expect([again.code, again.output]).toEqual([0, "0 items written\n"]);
    rmSync(join(root, "transformations"), { recursive: true });
    store("l", tools);
    expect((await piped(["pull", root])).output).toBe(
      "libraries/tools: changed on the server\n1 item written\n",
    );
  });

  test("names the place that it cannot write, and a directory that is none", async () => {
    store("l", tools);
    writeFileSync(join(root, "libraries"), "");
    const none = await piped(["pull", join(root, "libraries")]);
    expect([none.code, none.errors]).toEqual([1, expect.stringContaining("Expected a directory")]);
    rmSync(join(root, "libraries"));
    mkdirSync(join(root, "libraries/tools/code.js/x"), { recursive: true });
    const { code, errors } = await piped(["pull", root]);
    expect([code, errors]).toEqual([1, expect.stringContaining(`${root}/libraries/tools`)]);
  });
});

describe("diff", () => {
  test("shows what a push would change, or the paths alone, and exits with 1", async () => {
    store("l", tools);
    writeCode(root, { path: "libraries/tools", content: { ...tools, code: "b\n" } });
    writeCode(root, { path: "transformations/shout", content: shout });
    const names = await piped(["diff", root, "--names"]);
    const places =
      "libraries/tools: changed here and on the server\ntransformations/shout: only here\n";
    expect([names.code, names.output]).toEqual([1, places]);
    const { output } = await piped(["diff", root]);
    expect(output).toContain("\n  -export const a = 1;\n  +b\n");
    expect(output).toContain("transformations/shout: only here\n  transformation.json\n");
    expect(output).toContain("\n  test A title\n");
    const colored = (await inTerminal(["diff", root])).output;
    expect(colored).toContain("\u001b[1mlibraries/tools\u001b[22m: changed");
    expect(colored).toContain("\u001b[2m  code\u001b[22m\n");
    expect(colored).toContain("  \u001b[31m-export const a = 1;\u001b[39m\n");
    expect(colored).toContain("  \u001b[32m+b\u001b[39m\n");
  });

  test("says that nothing differs", async () => {
    store("l", tools);
    writeCode(root, { path: "libraries/tools", content: tools });
    const { code, output } = await piped(["diff", root]);
    expect([code, output]).toEqual([0, "nothing differs\n"]);
  });
});

describe("push", () => {
  const places = "libraries/tools: only here\ntransformations/shout: only here\n";
  const write = () => {
    writeCode(root, { path: "libraries/tools", content: tools });
    writeCode(root, { path: "transformations/shout", content: shout });
  };

  test("creates libraries before transformations, with test cases, and publishes nothing", async () => {
    write();
    const dry = await piped(["push", root, "--dry-run"]);
    expect(dry.output).toBe(`${places}2 items to push\n`);
    expect(changes()).toEqual([]);
    const { code, output } = await piped(["push", root]);
    expect([code, output]).toEqual([0, `${places}2 items pushed\n`]);
    expect(changes()).toEqual([
      "POST /libraries",
      "POST /transformations",
      "POST /v2/transformations/new-transformation/test-cases",
    ]);
    expect((await piped(["diff", root])).output).toBe("nothing differs\n");
    expect((await piped(["push", root])).output).toBe("0 items pushed\n");
    expect(changes()).toHaveLength(3);
    expect((await piped(["push", root, "--publish", "--dry-run"])).output).toBe(
      "0 items to push, 2 to publish\n",
    );
  });

  test("publishes all that is not live with --publish, or prints the reasons of the server", async () => {
    write();
    store("l", tools);
    store("t", { ...shout, code: "old\n" });
    await piped(["pull", root]);
    const run = await piped(["push", root, "--publish", "--overwrite"]);
    expect([run.code, run.output.split("\n").slice(-3)]).toEqual([
      0,
      ["1 item pushed", "1 item published", ""],
    ]);
    expect(server.sent.findLast(({ route }) => route.endsWith("/publish"))!.body).toEqual({
      transformations: ["v-t"],
      libraries: [],
    });
    published = { published: false, message: "a case fails\u001b" };
    const refused = await piped(["push", root, "--publish"]);
    expect([refused.code, refused.output]).toEqual([1, "0 items pushed\n"]);
    expect(refused.errors).toBe("pixelmill: a case fails\\u001b\n");
    stored.get("t")!.isPublished = true;
    const dry = await piped(["push", root, "--publish", "--dry-run"]);
    expect([dry.code, dry.output]).toEqual([0, "0 items to push, 0 to publish\n"]);
    const live = await piped(["push", root, "--publish"]);
    expect([live.code, live.output]).toEqual([0, "0 items pushed\nnothing to publish\n"]);
  });

  test("pushes nothing over changes of others without --overwrite", async () => {
    store("l", tools);
    await piped(["pull", root]);
    store("l", { ...tools, code: "other\n" });
    writeCode(root, { path: "libraries/tools", content: { ...tools, code: "mine\n" } });
    const both = await piped(["push", root]);
    expect([both.code, both.output]).toEqual([
      1,
      "libraries/tools: changed here and on the server\n",
    ]);
    writeCode(root, { path: "libraries/tools", content: tools });
    const { code, output, errors } = await piped(["push", root]);
    expect([code, output]).toEqual([1, "libraries/tools: changed on the server\n"]);
    expect(errors).toBe("pixelmill: Nothing was pushed; pull first, or push with --overwrite\n");
    expect(changes()).toEqual([]);
    expect((await piped(["push", root, "--overwrite"])).code).toBe(0);
    expect(stored.get("l")!.code).toBe(tools.code);
  });

  test("stops at a change that others make meanwhile, and keeps what it knows", async () => {
    write();
    store("t", { ...shout, code: "old\n" });
    refusals.set("t", Response.json({ message: "changed\u001b" }, { status: 412 }));
    const { code, errors } = await piped(["push", root, "--overwrite"]);
    expect([code, errors]).toEqual([
      1,
      "pixelmill: transformations/shout: changed\\u001b; run pixelmill diff\n",
    ]);
    expect(readFileSync(join(root, ".pixelmill-state.json"), "utf8")).toContain("new-library");
    refusals.set("t", Response.json({ message: "no" }, { status: 403 }));
    expect((await piped(["push", root, "--overwrite"])).code).toBe(3);
  });
});

describe("test", () => {
  const passed = { name: "A title", status: "pass", errors: [], logs: [], differences: [] };
  const failed = {
    ...{ name: '<b> & "c"', status: "fail", logs: ["one\u001b", "two"] },
    errors: [{ eventIndex: 0, message: "no", line: 2, column: 3, library: "tools" }],
    differences: [
      { path: "a.b", expected: "1" },
      { path: "", actual: "2" },
    ],
  };
  const ran = () => server.sent.filter(({ route }) => route === "POST /v2/run");

  test("runs the code of a directory over its cases, with the libraries beside it", async () => {
    writeCode(root, { path: "libraries/tools", content: tools });
    writeCode(root, { path: "transformations/shout", content: shout });
    report = { logs: [], results: [], testSuites: [passed] };
    const { code, output } = await piped(["test", root]);
    expect([code, output]).toEqual([
      0,
      "pass  libraries/tools: A title\npass  transformations/shout: A title\n2 passed\n",
    ]);
    const libraries = [{ name: "Tools", code: tools.code }];
    expect(ran().map(({ body }) => body)).toEqual([
      { language: "javascript", name: "Tools", libraries },
      {
        ...{ language: "javascript", name: "Shout", code: shout.code, libraries },
        testSuite: [{ ...shout.tests[0], id: "0" }],
      },
    ]);
    server.sent.length = 0;
    await piped(["test", join(root, "transformations/shout/code.js")]);
    expect(ran()).toHaveLength(1);
    await piped(["test", join(root, "libraries")]);
    expect(ran()).toHaveLength(2);
    server.sent.length = 0;
    // A file beside the folders is a transformation of its own.
    writeFileSync(join(root, "code.js"), "loose");
    await piped(["test", join(root, "code.js")]);
    expect(ran().map(({ body }) => body)).toMatchObject([{ name: "code", code: "loose" }]);
  });

  test("explains failures, exits with 1, and writes a report of JUnit", async () => {
    writeCode(root, { path: "transformations/shout", content: shout });
    report = { logs: [], results: [], testSuites: [passed, failed] };
    const file = join(root, "report.xml");
    const { code, output } = await piped(["test", root, "--junit", file]);
    expect(code).toBe(1);
    expect(output).toBe(
      [
        "pass  transformations/shout: A title",
        'FAIL  transformations/shout: <b> & "c"',
        "      event 1: no (tools line 2, column 3)",
        "      a.b: expected 1, got nothing",
        "      output: expected nothing, got 2",
        "      log: one\\u001b",
        "      log: two",
        "1 failed, 1 passed\n",
      ].join("\n"),
    );
    const xml = readFileSync(file, "utf8").replaceAll(/time="\d+\.\d{3}"/g, "time");
    const counts = 'tests="2" failures="1" time';
    expect(xml).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        `<testsuites name="pixelmill" ${counts}>`,
        `  <testsuite name="transformations/shout" ${counts}>`,
        '    <testcase name="A title" classname="transformations/shout" time>',
        "    </testcase>",
        '    <testcase name="&lt;b&gt; &amp; &quot;c&quot;" classname="transformations/shout" time>',
        '      <failure message="event 1: no (tools line 2, column 3)">event 1: no (tools line 2, column 3)',
        "a.b: expected 1, got nothing",
        "output: expected nothing, got 2</failure>",
        "      <system-out>one\ufffd",
        "two</system-out>",
        "    </testcase>",
        "  </testsuite>",
        "</testsuites>",
        "",
      ].join("\n"),
    );
    const colored = (await inTerminal(["test", root])).output;
    expect(colored).toContain("\u001b[31mFAIL\u001b[39m  transformations");
    expect(colored).toContain("\u001b[32mpass\u001b[39m  transformations");
    expect(colored).toContain("\u001b[31m1 failed\u001b[39m, 1 passed");
    const json = JSON.parse((await piped(["test", root, "--json"])).output);
    expect(json.map((it: any) => it.passed)).toEqual([true, false]);
    const nowhere = await piped(["test", root, "--junit", join(root, "none/report.xml")]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.errors).toContain(`Cannot write 2 outcomes to ${root}/none/report.xml: no such`);
  });

  test("of code without cases tells whether it loads", async () => {
    const path = join(root, "loose.py");
    writeFileSync(path, "x");
    report = { logs: [{ text: "said" }], results: [] };
    expect((await piped(["test", path])).output).toBe(`pass  ${path}: loads\n1 passed\n`);
    expect(ran()[0]?.body).toEqual({ language: "python", name: "loose", code: "x" });
    report = { logs: [{ text: "said" }], results: [], error: { message: "bad", line: 4 } };
    const { code, output } = await piped(["test", path]);
    expect(code).toBe(1);
    expect(output).toBe(
      `FAIL  ${path}: loads\n      bad (line 4)\n      log: said\n1 failed, 0 passed\n`,
    );
  });

  test("refuses a place without code, and a file of another kind", async () => {
    writeFileSync(join(root, "notes.md"), "");
    const cases = [
      [root, `Expected transformations or libraries in ${root}, got none`],
      [join(root, "notes.md"), "Expected a file that ends with .js or .py"],
      [join(root, "none"), `Cannot read ${root}/none: no such file or directory`],
    ];
    for (const [path, message] of cases) {
      const { code, errors } = await piped(["test", path!]);
      expect([code, errors]).toEqual([1, expect.stringContaining(message!)]);
    }
    expect(ran()).toEqual([]);
  });
});
