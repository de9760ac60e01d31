import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Client } from "../../src/api/client.ts";
import { applyContent, publishAll } from "../../src/cli/code/apply.ts";
import {
  type LocalCode,
  readCodeDirectory,
  rootAbove,
  writeCode,
} from "../../src/cli/code/code-directory.ts";
import { type CodeContent, fileNameOf, fingerprint } from "../../src/cli/code/code-item.ts";
import { compareCode, record } from "../../src/cli/code/compare.ts";
import type { ServerCode } from "../../src/cli/code/server-code.ts";
import { SyncState } from "../../src/cli/code/sync-state.ts";

const base = mkdtempSync(join(tmpdir(), "pixelmill-test-code-"));
afterAll(() => rmSync(base, { recursive: true }));
let roots = 0;
function newRoot(files: Record<string, string> = {}): string {
  const root = join(base, `${++roots}`);
  mkdirSync(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const library: CodeContent = {
  ...{ kind: "library", name: "Tools", description: "", language: "javascript" },
  ...{ code: "export const a = 1;\n", tests: [] },
};
const transformation: CodeContent = {
  ...{ kind: "transformation", name: "Shout", description: "Loud", language: "python" },
  code: "def transformEvent(event, metadata): return event\n",
  tests: [
    { name: "A title", input: [{ type: "page" }], expectedOutput: [{ type: "page" }] },
    { name: "a title", description: "as before", input: [] },
  ],
};

describe("a directory of code", () => {
  const path = "transformations/shout";

  test("is read as it was written, without files of the earlier content", () => {
    const root = newRoot({ "transformations/.git/x": "", "libraries/readme.md": "no code" });
    writeCode(root, { path, content: { ...transformation, language: "javascript" } });
    writeFileSync(join(root, path, "tests/notes.md"), "kept");
    const locals: LocalCode[] = [
      { path: "libraries/tools", content: library },
      { path, content: transformation },
    ];
    for (const local of locals) writeCode(root, local);
    expect(readCodeDirectory(root)).toEqual(locals);
    expect(readdirSync(join(root, path)).sort()).toEqual([
      "code.py",
      "tests",
      "transformation.json",
    ]);
    expect(readdirSync(join(root, path, "tests")).sort()).toEqual([
      ...["a-title-2.json", "a-title.json", "notes.md"],
    ]);
    writeCode(root, { path, content: { ...transformation, tests: [] } });
    expect(readdirSync(join(root, path, "tests"))).toEqual(["notes.md"]);
    expect(readdirSync(join(root, "libraries/tools")).sort()).toEqual(["code.js", "library.json"]);
  });

  const metadata = '{"name":"N"}';
  const [at, code] = ["transformations/n/transformation.json", "transformations/n/code.js"];
  const testAt = "transformations/n/tests/t.json";
  test.each([
    [{ [at]: metadata }, "either code.js or code.py"],
    [{ [at]: metadata, [code]: "", "transformations/n/code.py": "" }, "either code.js or code.py"],
    [{ [code]: "" }, "Cannot read"],
    [{ [at]: "{", [code]: "" }, "Cannot read"],
    [{ [at]: "[]", [code]: "" }, "a JSON object"],
    [{ [at]: '{"name":" N"}', [code]: "" }, "a text for name"],
    [{ [at]: '{"name":""}', [code]: "" }, "a text for name"],
    [{ [at]: '{"name":"N","description":1}', [code]: "" }, "a text for description"],
    [{ [at]: '{"name":"N","more":1}', [code]: "" }, "Unknown key more"],
    [{ [at]: metadata, [code]: "", [testAt]: '{"name":"","input":[]}' }, "a text for name"],
    [{ [at]: metadata, [code]: "", [testAt]: '{"name":"t"}' }, "a list of events for input"],
    [
      { [at]: metadata, [code]: "", [testAt]: '{"name":"t","input":[1]}' },
      "a list of events for input",
    ],
    [
      { [at]: metadata, [code]: "", [testAt]: '{"name":"t","input":[],"description":1}' },
      "a text for description",
    ],
    [
      { [at]: metadata, [code]: "", [testAt]: '{"name":"t","input":[],"expectedOutput":1}' },
      "a list of events for expectedOutput",
    ],
    [
      {
        ...{ [at]: metadata, [code]: "" },
        ...{ "transformations/o/transformation.json": metadata, "transformations/o/code.js": "" },
      },
      "transformations/n and transformations/o have the same name",
    ],
  ] as [Record<string, string>, string][])("with the files %j is refused", (files, message) => {
    expect(() => readCodeDirectory(newRoot(files))).toThrow(message);
  });

  test("is found from any folder inside it", () => {
    const root = newRoot({ "libraries/tools/code.js": "" });
    for (const inside of ["", "libraries", "libraries/tools", "libraries/tools/code.js"]) {
      expect(rootAbove(join(root, inside))).toBe(root);
    }
    rmSync(join(root, "libraries"), { recursive: true });
    expect(rootAbove(root)).toBeUndefined();
  });

  test("has names of files from names of the server", () => {
    expect(fileNameOf("../Ä b!C", new Set())).toBe("ä-b-c");
    expect(fileNameOf("a", new Set(["a", "a-2"]))).toBe("a-3");
    expect(fileNameOf("..", new Set())).toBe("unnamed");
    expect(fileNameOf("x".repeat(61), new Set())).toBe("x".repeat(60));
  });
});

const serverCode = (id: string, content: CodeContent): ServerCode => ({
  ...{ id, versionId: `v-${id}`, isPublished: true, tag: `"${id}"`, content },
  tests: content.tests.map((it, at) => ({ id: `t${at}`, versionId: `tv${at}`, content: it })),
});

describe("a comparison of a directory with a server", () => {
  const here = (content: CodeContent): LocalCode => ({ path: "libraries/tools", content });
  const changed = { ...library, code: "changed here" };
  const there = { ...library, code: "changed there" };
  const stateOf = (local: CodeContent, server: CodeContent, known?: CodeContent) => {
    const state = new SyncState(newRoot(), "w");
    if (known) record(state, "libraries/tools", serverCode("s", known));
    return compareCode([here(local)], [serverCode("s", server)], state)[0]!.state;
  };

  test("tells on which side the code changed since both were equal", () => {
    expect(stateOf(library, library)).toBe("same");
    expect(stateOf(changed, library, library)).toBe("changed-here");
    expect(stateOf(library, there, library)).toBe("changed-there");
    expect(stateOf(changed, there, library)).toBe("changed-both");
    expect(stateOf(changed, library)).toBe("changed-both");
  });

  test("pairs a folder with the code that it held, also under another name", () => {
    const state = new SyncState(newRoot(), "w");
    record(state, "libraries/tools", serverCode("old", library));
    const renamed = { ...library, name: "Renamed" };
    const found = compareCode(
      [here(library)],
      [serverCode("new", library), serverCode("old", renamed)],
      state,
    );
    expect(found.map(({ path, state, server }) => [path, state, server?.id])).toEqual([
      ["libraries/tools", "changed-there", "old"],
      ["libraries/tools-2", "new-there", "new"],
    ]);
  });

  test("records equal code, and names the code of one side alone", () => {
    const state = new SyncState(newRoot(), "w");
    const other = { ...transformation, name: "Tools" };
    const locals = [here(library), { path: "libraries/b", content: { ...library, name: "B" } }];
    const found = compareCode(locals, [serverCode("s", library), serverCode("t", other)], state);
    expect(found.map(({ path, state }) => [path, state])).toEqual([
      ["libraries/b", "new-here"],
      ["libraries/tools", "same"],
      ["transformations/tools", "new-there"],
    ]);
    expect(state.get("libraries/tools")).toEqual({ id: "s", base: fingerprint(library) });
    expect(state.get("libraries/b")).toBeUndefined();
    const twice = [serverCode("s", library), serverCode("u", library)];
    expect(() => compareCode([here(library)], twice, new SyncState(newRoot(), "w"))).toThrow(
      "2 libraries with the name of libraries/tools",
    );
  });

  test("remembers each workspace in a file, which exists only while it has something", () => {
    const root = newRoot();
    const file = join(root, ".pixelmill-state.json");
    new SyncState(root, "w").save();
    expect(existsSync(file)).toBe(false);
    const state = new SyncState(root, "w");
    record(state, "libraries/tools", serverCode("s", library));
    state.save();
    const again = new SyncState(root, "w");
    expect([again.pathOf("s"), again.pathOf("t")]).toEqual(["libraries/tools", undefined]);
    expect(new SyncState(root, "x").pathOf("s")).toBeUndefined();
  });

  test.each([
    '{"w":[1]}',
    '{"w":{"../libraries/a":{"id":"s","base":"b"}}}',
    '{"w":{"libraries/..":{"id":"s","base":"b"}}}',
    '{"w":{"libraries/a/b":{"id":"s","base":"b"}}}',
    '{"w":{"libraries":{"id":"s","base":"b"}}}',
  ])(
    "refuses a file with another content, or with paths that are no folders of code: %s",
    (text) => {
      const root = newRoot();
      writeFileSync(join(root, ".pixelmill-state.json"), text);
      expect(() => new SyncState(root, "w")).toThrow("Expected the state of a directory of code");
    },
  );
});

describe("code that is pushed", () => {
  function recorder(answers: Record<string, unknown> = {}) {
    const calls: unknown[] = [];
    const call = async (key: string, request: object) => {
      calls.push([key, request]);
      return answers[key] ?? { id: "new", testCases: [] };
    };
    const callTagged = async () => ({
      answer: { ...library, id: "new", versionId: "v" },
      tag: "t",
    });
    return { client: { call, callTagged } as unknown as Client, calls };
  }

  test("is created with its test cases, or updated where it differs, under the tag that was read", async () => {
    const { client, calls } = recorder();
    await applyContent(client, { ...transformation, tests: [] }, undefined);
    await applyContent(client, library, serverCode("s", library));
    await applyContent(client, { ...library, description: "new" }, serverCode("s", library));
    const keys = calls.map((call) => (call as [string])[0]);
    expect(keys.filter((key) => key.startsWith("POST"))).toEqual([
      "POST /transformations",
      "POST /libraries/{id}",
    ]);
    expect(calls.at(-1)).toMatchObject([
      "POST /libraries/{id}",
      { params: { id: "s" }, ifMatch: '"s"', body: { name: "Tools", description: "new" } },
    ]);
  });

  test("adds, replaces and deletes test cases by name", async () => {
    const { client, calls } = recorder();
    const [first, second] = transformation.tests;
    const changed = { ...first!, input: [{ type: "track" }] };
    const added = { name: "added", input: [] };
    const content = { ...transformation, tests: [added, changed] };
    await applyContent(client, content, serverCode("s", transformation));
    expect(calls.filter((call) => !(call as [string])[0].startsWith("GET"))).toEqual([
      // The deletion makes room for the addition where the server has the maximum of test cases.
      [
        "DELETE /v2/transformations/{id}/test-cases/{caseId}",
        { params: { id: "s", caseId: "t1" }, ifMatch: '"tv1"' },
      ],
      ["POST /v2/transformations/{id}/test-cases", { params: { id: "s" }, body: added }],
      [
        "PUT /v2/transformations/{id}/test-cases/{caseId}",
        { params: { id: "s", caseId: "t0" }, ifMatch: '"tv0"', body: changed },
      ],
    ]);
    expect(second!.name).toBe("a title");
  });

  test("is published all at once, or has the reasons of the server", async () => {
    const key = "POST /transformations/publish";
    const codes = [serverCode("l", library), serverCode("t", transformation)];
    const good = recorder({ [key]: { published: true } });
    expect(await publishAll(good.client, codes)).toEqual([]);
    expect(good.calls).toEqual([
      [key, { ifMatch: '"l", "t"', body: { transformations: ["v-t"], libraries: ["v-l"] } }],
    ]);
    const validationOutput = {
      libraries: [{ name: "L", pass: false, message: "m" }],
      transformations: [
        { name: "T", pass: false },
        { name: "U", pass: true },
      ],
    };
    const bad = recorder({ [key]: { published: false, validationOutput } });
    expect(await publishAll(bad.client, codes)).toEqual(["L: m", "T: a test failed"]);
    const silent = recorder({ [key]: { published: false } });
    expect(await publishAll(silent.client, codes)).toEqual(["The server did not publish"]);
  });
});
