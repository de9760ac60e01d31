import { expect, test } from "bun:test";
import { parseToShow } from "../../src/json/parse-exact.ts";
import { DIFFERENCES_MAX } from "../../src/publishing/reports.ts";
import { toTestResult } from "../../src/publishing/test-result.ts";
import { differencesOf, differenceText } from "../../src/publishing/testing/differences.ts";
import { code, freshPublishing, refusalOf } from "./_setup.ts";

const track = { type: "track" };

/** A live transformation with these test cases. */
async function tested(cases: { name: string; input: object[]; expectedOutput?: object[] }[]) {
  const house = await freshPublishing();
  const { catalog, workspaceId, publishing } = house;
  const input = code({ name: "T", publish: true, events: [track] });
  const { resource, revision } = await publishing.create(workspaceId, "transformation", input);
  const { id } = resource;
  for (const testCase of cases) {
    await catalog.testCases.add(workspaceId, id, testCase as never);
  }
  house.sandbox.checked.length = 0;
  return { ...house, id, revision };
}

test("every publish runs the stored test cases beside the events of the request", async () => {
  const { workspaceId, publishing, sandbox, id } = await tested([
    { name: "Two", input: [track, track] },
  ]);
  await publishing.update(workspaceId, "transformation", id, { publish: true, events: [track] });
  expect(sandbox.checked.map(({ events }) => events)).toEqual([1, 2]);
});

test("stored test cases stand in for the default events", async () => {
  const { workspaceId, publishing, sandbox, id } = await tested([{ name: "One", input: [track] }]);
  // The default events have a page, at which this code throws.
  await publishing.update(workspaceId, "transformation", id, { code: "TRACKS", publish: true });
  expect(sandbox.checked.map(({ events }) => events)).toEqual([1]);
});

test("a publish is refused with the differences of each test case that fails", async () => {
  const expectedOutput = [{ type: "page", libraries: [] }];
  const { catalog, workspaceId, publishing, id, revision } = await tested([
    { name: "Passes", input: [track] },
    { name: "Differs", input: [track], expectedOutput },
  ]);
  const differs = catalog.testCases.list(workspaceId, id)[1]!;
  const publish = () =>
    publishing.update(workspaceId, "transformation", id, { publish: true, events: [track] });
  const refused = await refusalOf(publish);
  const message =
    '"Differs" does not make the expected output: at /0/type expected "page", got "track"';
  const differences = [{ path: "/0/type", expected: '"page"', actual: '"track"' }];
  expect(refused.details).toEqual([{ path: "/code", message, testCase: differs.id, differences }]);
  expect(catalog.code.resource(workspaceId, "transformation", id).newest).toBe(revision.versionId);

  const selection = { transformations: [{ versionId: revision.versionId }], libraries: [] };
  const { result } = { result: await publishing.test(workspaceId, selection) };
  expect(result.failedTestResults).toMatchObject([
    {
      transformerVersionID: revision.versionId,
      result: {
        error: message,
        testCases: [
          { name: "Passes", status: "pass" },
          { name: "Differs", status: "fail", differences, expectedOutput },
        ],
      },
    },
  ]);
});

test("a test case that throws names itself, its line and column", async () => {
  const { catalog, workspaceId, publishing, id } = await tested([{ name: "One", input: [track] }]);
  const [testCase] = catalog.testCases.list(workspaceId, id);
  const change = { code: "FAILS", publish: true };
  const publish = () => publishing.update(workspaceId, "transformation", id, change);
  const message = '"One": Error: as marked';
  expect((await refusalOf(publish)).details).toEqual([
    { path: "/code", message, testCase: testCase!.id, line: 2, column: 9 },
  ]);
});

test("the outputs of a test run are those of the request's events, as clients compare them", async () => {
  const { workspaceId, publishing, revision } = await tested([{ name: "One", input: [track] }]);
  const { versionId } = revision;
  const page = { type: "page" };
  const outputs = async (testInput?: object[]) => {
    const transformations = [{ versionId, ...(testInput && { testInput }) }] as never;
    const report = await publishing.test(workspaceId, { transformations, libraries: [] });
    return report.successTestResults.map(({ result }) => result.output.transformedEvents);
  };
  expect(await outputs([page])).toEqual([[{ ...page, libraries: [] }]]);
  expect(await outputs()).toEqual([[{ ...track, libraries: [] }]]);
});

test("a rollback is never refused by test cases, and warns about them", async () => {
  const { catalog, workspaceId, publishing, id, revision } = await tested([]);
  await publishing.update(workspaceId, "transformation", id, { publish: true, code: "new" });
  const differing = { name: "New", input: [track], expectedOutput: [] };
  await catalog.testCases.add(workspaceId, id, differing);
  const transformations = [{ versionId: revision.versionId }];
  const result = await publishing.publish(workspaceId, { transformations, libraries: [] });
  expect(result).toEqual({
    published: true,
    warnings: [expect.stringContaining('T: "New" does not make the expected output')],
  });
});

test("a library is refused when it changes the output of a test case of live code", async () => {
  const house = await freshPublishing();
  const { catalog, workspaceId, publishing } = house;
  const lib = await publishing.create(workspaceId, "library", code({ name: "Lib", publish: true }));
  const input = code({ name: "User", code: 'from "lib"', publish: true });
  const { resource } = await publishing.create(workspaceId, "transformation", input);
  const expectedOutput = [{ ...track, libraries: [""] }];
  const add = (name: string, output: object[]) =>
    catalog.testCases.add(workspaceId, resource.id, {
      name,
      input: [track],
      expectedOutput: output as Record<string, unknown>[],
    });
  // This one fails with the live library too, so that it refuses nothing.
  await add("Failed before", []);
  const change = (text: string) =>
    publishing.update(workspaceId, "library", lib.resource.id, {
      code: text,
      language: "javascript",
      publish: true,
    });
  await change("fine");
  await change("");
  await add("Passed", expectedOutput);
  const refused = await refusalOf(() => change("changed"));
  expect(refused.details).toMatchObject([
    { message: expect.stringContaining('User: "Passed" does not make the expected output') },
  ]);
});

test("test cases of a draft run have results apart from the events", async () => {
  const { workspaceId, publishing } = await freshPublishing();
  const run = (testSuite: object[], events: object[] = []) =>
    publishing.run(workspaceId, {
      language: "javascript",
      transformation: { name: "x", code: "", events, metadata: [], testSuite } as never,
      libraries: [],
    });
  const suite = { id: "s", name: "S", input: [track], expectedOutput: [] };
  const { results, testSuites } = await run([suite], [{ a: 1 }]);
  expect(results).toHaveLength(1);
  expect(testSuites).toMatchObject([{ id: "s", status: "fail", differences: [{ path: "/0" }] }]);
  expect(await run([suite])).toMatchObject({ results: [], testSuites: [{}] });
  expect((await run([])).results).toHaveLength(2);
});

test("differences are JSON pointers to what is missing, added and changed", () => {
  const expected = [{ a: 1, "b/~": { c: [1, 2] }, same: null }];
  const actual = [{ same: null, a: "1", "b/~": { c: [1] }, more: {} }, 5];
  expect(differencesOf(expected, actual)).toEqual([
    { path: "/0/a", expected: "1", actual: '"1"' },
    { path: "/0/b~1~0/c/1", expected: "2" },
    { path: "/0/more", actual: "{}" },
    { path: "/1", actual: "5" },
  ]);
  const own = JSON.parse('{"__proto__": 1, "constructor": 2}');
  expect(differencesOf({}, own)).toHaveLength(2);
  expect(differencesOf(own, JSON.parse(JSON.stringify(own)))).toEqual([]);
  expect(differencesOf([], {})).toHaveLength(1);
  const parse = (n: string) => parseToShow(`{"n":${n}}`);
  const [one, other] = [parse("12345678901234567890"), parse("1234567890123456789")];
  expect(differencesOf(one, parse("12345678901234567168"))).toEqual([]);
  expect(differencesOf(one, JSON.parse('{"n":12345678901234567890}'))).toEqual([]);
  expect(differencesOf(one, other)).toEqual([
    { path: "/n", expected: "12345678901234567890", actual: "1234567890123456789" },
  ]);
  expect(differencesOf(new Array(1_000).fill(1), [])).toHaveLength(DIFFERENCES_MAX);
  const [whole, cut] = [254, 255].map((length) => differencesOf("x".repeat(length), 1)[0]!);
  expect(whole!.expected).toBe(`"${"x".repeat(254)}"`);
  expect(cut!.expected).toBe(`"${"x".repeat(254)}…`);
});

test("the text of a difference names its place, the expected value and the actual value", () => {
  const told = [
    { path: "", expected: "1", actual: "2" },
    { path: "/0", actual: "2" },
    { path: "/0", expected: "1" },
  ].map(differenceText);
  expect(told).toEqual([
    "expected 1, got 2",
    "at /0 expected nothing, got 2",
    "at /0 expected 1, got nothing",
  ]);
});

test("code that does not load fails before any test case", () => {
  const revision = { id: "i", name: "n", versionId: "v" } as never;
  const error = { message: "SyntaxError" };
  const transformations = [{ revision, imports: [], error, runs: [] }];
  const report = { transformations, libraries: [], seen: [], tested: [] };
  expect(toTestResult(report).failedTestResults[0]?.result).toEqual({
    error: "SyntaxError",
    output: { transformedEvents: [], logs: [] },
  });
});
