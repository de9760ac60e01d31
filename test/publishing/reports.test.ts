import { describe, expect, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { checkImportNames, eventsIn } from "../../src/publishing/code-selection.ts";
import { planDraftRun, toDraftRunResult } from "../../src/publishing/draft-run.ts";
import { warningsOf } from "../../src/publishing/publish-warnings.ts";
import { toTestResult } from "../../src/publishing/test-result.ts";
import { detailsOf, failuresOf } from "../../src/publishing/testing/test-failures.ts";
import { toValidationResult } from "../../src/publishing/validation-result.ts";
import type { ProgramOutcome } from "../../src/sandbox/program.ts";
import { DETAILS_MAX, GUEST_ERROR_CHARS_MAX } from "../../src/settings/limits.ts";

const revisionOf = (name: string) => ({ name, id: `id of ${name}`, versionId: name }) as never;
const outputs = (...events: object[]): ProgramOutcome => {
  return { events: events.map((event) => Buffer.from(JSON.stringify(event))) };
};
const failed = (message: string, more = {}): ProgramOutcome => ({ error: { message, ...more } });
const runOf = (suite: object, ...outcomes: ProgramOutcome[]) => {
  const input = outcomes.map((_, n) => ({ n }));
  return {
    suite: { id: "s", name: "Suite", input, ...suite },
    report: { outcomes, logs: [{ text: `of ${outcomes.length}` }] },
  };
};
const reportOf = (transformations: object[], libraries: object[] = [], tested: object[] = []) =>
  ({ transformations, libraries, seen: [], tested }) as never;
const transformation = (name: string, more: object = {}) => {
  return { revision: revisionOf(name), imports: [], runs: [], ...more };
};
const library = (name: string, more: object = {}) => {
  return { revision: { ...(revisionOf(name) as object), importName: name }, imports: [], ...more };
};

describe("failures of tests", () => {
  const testCase = { id: "case", name: "Case", isTestCase: true };
  const report = reportOf(
    [
      transformation("own", {
        runs: [
          runOf({}, outputs({}), failed("no a", { line: 2, column: 3 })),
          runOf(testCase, failed("no b")),
          runOf({ ...testCase, expectedOutput: [{ a: 1 }] }, outputs({ a: 2 })),
        ],
      }),
      transformation("other", {
        runs: [runOf({}, failed("no c")), runOf(testCase, failed("no d"))],
      }),
      transformation("works", { runs: [runOf({ expectedOutput: [{}] }, outputs({}))] }),
      transformation("unloaded", { error: { message: "no e" }, runs: [runOf({}, failed("f"))] }),
    ],
    [library("good"), library("bad", { error: { message: "no g" } })],
  );

  test("point into the request, or name their code and test case", () => {
    const differences = [{ path: "/0/a", expected: "1", actual: "2" }];
    expect<unknown>(detailsOf(failuresOf(report), "own")).toEqual([
      { path: "/code", message: "bad: no g" },
      { path: "/events/1", message: "no a", line: 2, column: 3 },
      { path: "/code", message: '"Case": no b', testCase: "case" },
      {
        path: "/code",
        message: '"Case" does not make the expected output: at /0/a expected 1, got 2',
        testCase: "case",
        differences,
      },
      { path: "/code", message: "other: no c" },
      { path: "/code", message: 'other: "Case": no d' },
      { path: "/code", message: "unloaded: no e" },
    ]);
  });

  test("are warnings of a publish, with their place", () => {
    expect(warningsOf(report)).toEqual([
      "bad: no g",
      "own: test event 2: no a (line 2)",
      'own: "Case", test event 1: no b',
      'own: "Case" does not make the expected output: at /0/a expected 1, got 2',
      "other: test event 1: no c",
      'other: "Case", test event 1: no d',
      "unloaded: no e",
    ]);
    const many = Array.from({ length: DETAILS_MAX + 1 }, () => failed("first\nsecond"));
    const bounded = warningsOf(reportOf([transformation("t", { runs: [runOf({}, ...many)] })]));
    expect(bounded).toHaveLength(DETAILS_MAX);
    expect(bounded[0]).toBe("t: test event 1: first");
  });

  test("are results of a test run, with the outputs of the request's events", () => {
    const { successTestResults, failedTestResults } = toTestResult(report);
    expect(successTestResults).toEqual([
      {
        transformerVersionID: "works",
        ...{ id: "id of works", name: "works" },
        result: { output: { transformedEvents: [{}], logs: ["of 1"] } },
      },
    ]);
    const results = failedTestResults.map(({ name, result }) => {
      const { testCases = [], output, ...error } = result;
      return { name, error, testCases: testCases.length, output };
    });
    const none = { transformedEvents: [], logs: [] };
    const unloaded = { transformedEvents: [{ error: "f" }], logs: ["of 1"] };
    expect<unknown>(results).toEqual([
      { name: "bad", error: { error: "no g" }, testCases: 0, output: none },
      {
        ...{ name: "own", error: { error: "no a", line: 2, column: 3 }, testCases: 2 },
        output: { transformedEvents: [{}, { error: "no a" }], logs: ["of 2"] },
      },
      {
        ...{ name: "other", error: { error: "no c" }, testCases: 1 },
        output: { transformedEvents: [{ error: "no c" }], logs: ["of 1"] },
      },
      { name: "unloaded", error: { error: "no e" }, testCases: 0, output: unloaded },
    ]);
    const { failedTestResults: stored } = toTestResult(
      reportOf([transformation("t", { runs: [runOf(testCase, failed("no"))] })]),
    );
    expect(stored[0]!.result.output.transformedEvents).toEqual([{ error: "no" }]);
  });
});

test("code that drops every test event is warned of, unless tests expect that or it was not named", () => {
  const dropping = (...runs: object[]) => transformation("t", { runs });
  const warning = ["t: the code drops every test event; does it return it?"];
  expect(warningsOf(reportOf([dropping(runOf({}, outputs(), outputs()))]))).toEqual(warning);
  const quiet = [
    [dropping()],
    [dropping(runOf({}, outputs(), outputs({})))],
    [dropping(runOf({}, outputs()), runOf({ expectedOutput: [] }, outputs()))],
  ];
  for (const transformations of quiet) expect(warningsOf(reportOf(transformations))).toEqual([]);
  const tested = reportOf([dropping(runOf({}, outputs()))], [], [{ versionId: "t" }]);
  expect(warningsOf(tested)).toEqual([]);
});

describe("a run of drafts", () => {
  const catalog = {
    code: {
      draft: (workspaceId: string, kind: string, input: { name: string; language: string }) => {
        return { ...input, workspaceId, kind, importName: input.name };
      },
    },
  } as unknown as Catalog;
  const suite = { id: "c", name: "Case", input: [{ n: 1 }] };
  const planOf = (
    transformation: object | undefined,
    libraries: object[] = [],
    language = "python",
  ) =>
    planDraftRun(catalog, "w", {
      language,
      libraries,
      ...(transformation && {
        transformation: { name: "T", code: "c", events: [], ...transformation },
      }),
    } as never);

  test("has the events and test cases of the request, or the default events", () => {
    const suitesOf = (given: object) =>
      planOf(given).transformations[0]!.suites.map(
        ({ id, isTestCase = false, input, metadata }) => {
          return { id, isTestCase, events: input.length, metadata };
        },
      );
    const own = (events: number, metadata?: unknown) => {
      return { id: "events", isTestCase: false, events, metadata } as never;
    };
    const stored = { id: "c", isTestCase: true, events: 1, metadata: undefined };
    expect(suitesOf({})).toEqual([own(2)]);
    expect(suitesOf({ events: [{}], metadata: [{ a: 1 }] })).toEqual([own(1, [{ a: 1 }])]);
    expect(suitesOf({ testSuite: [suite] })).toEqual([stored]);
    expect(suitesOf({ events: [{}], testSuite: [suite] })).toEqual([own(1), stored]);
  });

  test("refuses libraries that code could not import", () => {
    const lib = (name: string) => ({ name, code: "" });
    expect(planOf(undefined, [lib("one"), lib("two")])).toMatchObject({
      ...{ transformations: [], withImporters: false },
      libraries: [{ importName: "one" }, { importName: "two" }],
    });
    expect(() => planOf({}, [lib("one"), lib("one")])).toThrow();
    expect(() => planOf({}, [lib("1one")])).toThrow("Python cannot import a library of this name");
    expect(() => planOf({}, [lib("1one")], "javascript")).not.toThrow();
  });

  test("results in the outputs or the error of each event, and in test cases apart", () => {
    const runs = [
      runOf({}, outputs({ a: 1 }, {}), failed("no", { line: 1 })),
      runOf({ ...suite, isTestCase: true }, outputs({})),
    ];
    const result = toDraftRunResult(reportOf([transformation("t", { runs, imports: ["lib"] })]));
    expect<unknown>(result).toEqual({
      imports: ["lib"],
      results: [
        { event: { n: 0 }, outputs: [{ a: 1 }, {}] },
        { event: { n: 1 }, error: { message: "no", line: 1 } },
      ],
      logs: [{ text: "of 2" }],
      testSuites: [expect.objectContaining({ id: "c", status: "pass" })],
    });
    expect(toDraftRunResult(reportOf([]))).toEqual({ imports: [], results: [], logs: [] });
  });

  test("names the library that does not load before the code that needs it", () => {
    const code = transformation("t", { error: { message: "no import" } });
    const lib = library("lib", { error: { message: "no", line: 4 } });
    expect(toDraftRunResult(reportOf([code], [library("good")])).error).toEqual({
      message: "no import",
    });
    expect<unknown>(toDraftRunResult(reportOf([code], [library("good"), lib])).error).toEqual({
      ...{ library: "lib", message: "no", line: 4 },
    });
  });
});

test("a request's events are those of its suites, or else its own", () => {
  const suite = (...input: Record<string, unknown>[]) => ({ id: "s", name: "S", input });
  const item = { versionId: "v" };
  expect<unknown>([
    eventsIn({ ...item, testInput: [{ a: 1 }], testSuite: [suite({ b: 1 }), suite({ c: 1 })] }),
    eventsIn({ ...item, testInput: [{ a: 1 }], testSuite: [suite()] }),
    eventsIn(item),
  ]).toEqual([[{ b: 1 }, { c: 1 }], [{ a: 1 }], []]);
});

test("two libraries have one import name only in languages that do not import each other", () => {
  const lib = (language: string, importName: string) => ({ language, importName }) as never;
  const differ = [lib("javascript", "a"), lib("python", "a"), lib("python", "b")];
  expect(() => checkImportNames(differ)).not.toThrow();
  expect(() => checkImportNames([...differ, lib("pythonfaas", "a")])).toThrow();
});

describe("a validation", () => {
  const catalog = {
    code: {
      resource: (_workspaceId: string, _kind: string, id: string) =>
        id === "id of named" ? { externalId: "x" } : {},
    },
  } as unknown as Catalog;
  const passing = runOf({}, outputs({}));
  const wrong = runOf({ expectedOutput: [{ a: 1 }] }, outputs({}));
  const validated = (...parts: Parameters<typeof reportOf>) => {
    const { pass, message, validationOutput } = toValidationResult(catalog, reportOf(...parts));
    const { libraries, transformations } = validationOutput;
    const statuses = transformations.map((it) => [it.name, it.testResult.status, it.pass]);
    return { pass, message, libraries, statuses, transformations };
  };

  test("passes if all code loads, runs without an error, and makes the expected outputs", () => {
    const named = transformation("named", { runs: [passing], imports: ["lib"] });
    const { transformations, ...rest } = validated([named], [library("lib")]);
    expect<unknown>(rest).toEqual({
      pass: true,
      libraries: [
        { id: "id of lib", name: "lib", versionId: "lib", handleName: "lib", pass: true },
      ],
      statuses: [["named", "pass", true]],
    });
    expect(transformations[0]).toMatchObject({
      ...{ id: "id of named", externalId: "x", versionId: "named", imports: ["lib"] },
      testResult: { results: [{ status: "pass", actualOutput: [{}] }] },
    });
  });

  test("has the status of each transformation, an error before a wrong output", () => {
    const { pass, message, statuses } = validated([
      transformation("passes", { runs: [passing] }),
      transformation("differs", { runs: [passing, wrong] }),
      transformation("fails", { runs: [wrong, runOf({}, failed("no"))] }),
      transformation("unloaded", { error: { message: "no" } }),
    ]);
    expect({ pass, message }).toEqual({
      pass: false,
      message: "Some of the code does not pass its tests",
    });
    expect<unknown>(statuses).toEqual([
      ["passes", "pass", true],
      ["differs", "fail", false],
      ["fails", "error", false],
      ["unloaded", "error", false],
    ]);
  });

  test("leaves out importers that pass, and says why code does not load", () => {
    const error = { message: "x".repeat(GUEST_ERROR_CHARS_MAX + 1), line: 1 };
    const { pass, libraries, transformations } = validated(
      [transformation("quiet", { runs: [passing] }), transformation("loud", { error })],
      [transformation("good"), library("bad", { error }), library("importer")],
      ["quiet", "loud", "importer"].map((versionId) => ({ versionId })),
    );
    expect(pass).toBe(false);
    const message = `${"x".repeat(GUEST_ERROR_CHARS_MAX - 1)}…`;
    expect([...libraries, ...transformations]).toEqual([
      { id: "id of good", name: "good", versionId: "good", handleName: "", pass: true },
      { id: "id of bad", name: "bad", versionId: "bad", handleName: "bad", pass: false, message },
      {
        ...{ id: "id of loud", name: "loud", versionId: "loud", imports: [], pass: false, message },
        testResult: { status: "error", results: [] },
      },
    ]);
  });
});
