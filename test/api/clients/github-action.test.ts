import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

/**
 * RudderStack's GitHub Action, step by step as it works: list, upsert by name without publishing,
 * test, compare, publish. It takes any 2xx for success, and only an entry of `failedTestResults`
 * for a failed test: what it calls green must be green.
 */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

interface Code {
  name: string;
  code: string;
  language?: string;
  testInput?: unknown[];
  expectedOutput?: unknown[];
}

/** Axios with e-mail and token as Basic credentials: it throws for anything but 2xx. */
async function axios(method: string, path: string, body?: unknown): Promise<any> {
  const credentials = Buffer.from(`dev@example.com:${api.token}`).toString("base64");
  const answer = await api.send(method, path, {
    token: null,
    ...(body !== undefined && { body }),
    headers: { Authorization: `Basic ${credentials}`, "User-Agent": "transformationAction" },
  });
  if (answer.status < 200 || answer.status > 299) throw new Error(`status ${answer.status}`);
  return answer.body;
}

const idsByName = (list: any[]) => Object.fromEntries(list.map(({ name, id }) => [name, id]));

/** Resolves when the Action would be green, rejects with why it is red. */
async function action(files: { transformations: Code[]; libraries: Code[] }): Promise<void> {
  const transformationIds = idsByName((await axios("GET", "/transformations")).transformations);
  const libraryIds = idsByName((await axios("GET", "/libraries")).libraries);
  const upsert = async (kind: string, ids: Record<string, string>, { name, ...code }: Code) => {
    const { code: text, language = "javascript" } = code;
    const fields = { description: "From the repository", code: text, language };
    const id = ids[name];
    return id
      ? axios("POST", `/${kind}/${id}?publish=false`, fields)
      : axios("POST", `/${kind}?publish=false`, { name, ...fields });
  };
  const transformations: any[] = [];
  const wanted = new Map<string, unknown[] | undefined>();
  for (const it of files.transformations) {
    const { versionId } = await upsert("transformations", transformationIds, it);
    wanted.set(versionId, it.expectedOutput);
    transformations.push({ versionId, ...(it.testInput && { testInput: it.testInput }) });
  }
  const libraries: any[] = [];
  for (const it of files.libraries) {
    const { versionId } = await upsert("libraries", libraryIds, it);
    libraries.push({ versionId });
  }
  const body = { transformations, libraries };
  const { result } = await axios("POST", "/transformations/libraries/test", body);
  if (result.failedTestResults.length > 0) throw new Error("failures while running tests");
  for (const { transformerVersionID, result: run } of result.successTestResults) {
    const expected = wanted.get(transformerVersionID);
    if (expected && !Bun.deepEquals(expected, run.output.transformedEvents)) {
      throw new Error("output does not match");
    }
  }
  await axios("POST", "/transformations/libraries/publish", { ...body, commitId: "0ffee1" });
}

const words = { name: "Words", code: "export const up = (text) => String(text).toUpperCase();" };
const shout = {
  name: "Shout",
  code: "import { up } from 'words';\nexport const transformEvent = (e) => ({ a: up(e.a) });",
  testInput: [{ a: "x" }],
  expectedOutput: [{ a: "X" }],
};

async function published(name: string): Promise<string | undefined> {
  const { transformations } = await axios("GET", "/transformations");
  return transformations.find((it: any) => it.name === name)?.code;
}

test("good code is published, and published again when it changes", async () => {
  await action({ transformations: [shout], libraries: [words] });
  expect(await published("Shout")).toBe(shout.code);
  const code = `${shout.code} // once more`;
  await action({ transformations: [{ ...shout, code }], libraries: [words] });
  expect(await published("Shout")).toBe(code);
});

test.each<[string, Code]>([
  ["an event fails", { name: "Throws", code: "export const transformEvent = () => { throw 1; };" }],
  [
    "one of two events fails",
    {
      name: "Half",
      code: "export const transformEvent = (e) => e.a.b;",
      testInput: [{ a: { b: {} } }, {}],
    },
  ],
  ["the code does not load", { name: "Broken", code: "export const transformEvent = (" }],
  ["the output differs", { ...shout, name: "Other", expectedOutput: [{ a: "Y" }] }],
])("it is red when %s, and nothing is published", async (_, code) => {
  await expect(action({ transformations: [code], libraries: [words] })).rejects.toThrow(
    /failures|match/,
  );
  expect(await published(code.name)).toBeUndefined();
});

test("the action fails when publishing finds an error that its tests did not", async () => {
  // A library that breaks published code which the request does not name.
  const broken = { name: "Words", code: "export const down = () => '';" };
  const lone = { name: "Lone", code: "export const transformEvent = (e) => e;" };
  await expect(action({ transformations: [lone], libraries: [broken] })).rejects.toThrow(
    "status 400",
  );
  expect(await published("Lone")).toBeUndefined();
  const { versionId } = await axios("POST", "/transformations?publish=false", {
    name: "Late",
    language: "javascript",
    code: "export const transformEvent = () => { throw new Error('late'); };",
  });
  for (const path of ["/libraries/publish", "/transformations/libraries/publish"]) {
    const { status, body } = await api.send("POST", path, {
      body: { transformations: [versionId] },
    });
    expect([path, status, body]).toMatchObject([
      path,
      400,
      {
        message: "Some of the code does not pass its tests",
        published: false,
        validationOutput: { transformations: [{ versionId, pass: false }] },
      },
    ]);
  }
});

test("it is green without any code", async () => {
  const none = { transformations: [], libraries: [] };
  const run = await api.send("POST", "/transformations/libraries/test", { body: none });
  expect([run.status, run.body]).toEqual([
    200,
    { result: { successTestResults: [], failedTestResults: [] } },
  ]);
  const path = "/transformations/libraries/publish";
  const { status, body } = await api.send("POST", path, { body: { ...none, commitId: "0ffee1" } });
  expect([status, body]).toEqual([200, { published: true }]);
  // Without a commit, nothing to publish is a mistake.
  expect((await api.send("POST", path, { body: none })).status).toBe(400);
});
