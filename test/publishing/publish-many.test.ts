import { describe, expect, test } from "bun:test";
import { truncateMessage } from "../../src/publishing/testing/suite-result.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../src/settings/limits.ts";
import { code, destination, freshPublishing, refusalOf, view } from "./_setup.ts";

async function draftPair(mark = "") {
  const house = await freshPublishing();
  const { workspaceId, publishing } = house;
  const library = await publishing.create(
    workspaceId,
    "library",
    code({ name: "Lib", code: "lib" }),
  );
  const user = code({ name: "User", code: `from "lib" ${mark}`, externalId: "ext" });
  const transformation = await publishing.create(workspaceId, "transformation", user);
  const selection = {
    transformations: [{ versionId: transformation.revision.versionId }],
    libraries: [{ versionId: library.revision.versionId }],
  };
  return { house, library, transformation, selection };
}

describe("POST publish", () => {
  test("publishes code with the libraries of the same request", async () => {
    const { house, library, transformation, selection } = await draftPair();
    const { catalog, workspaceId, publishing } = house;
    expect(await publishing.publish(workspaceId, selection)).toEqual({ published: true });
    expect([...catalog.code.listPublished(workspaceId, "library")][0]?.revision).toEqual(
      library.revision,
    );
    const { resource } = catalog.code.publishedRevision(
      workspaceId,
      "transformation",
      transformation.resource.id,
    );
    expect(catalog.code.publication(resource)?.imports).toEqual(["lib"]);
    // The same again, and an older version again, are no error.
    expect(await publishing.publish(workspaceId, selection)).toEqual({ published: true });
  });

  test("is all or nothing, and says what failed", async () => {
    const { house, transformation, library, selection } = await draftPair("FAILS");
    const { workspaceId, publishing } = house;
    const testInput = [{ a: 1 }];
    const transformations = [{ ...selection.transformations[0]!, testInput }];
    const result = await publishing.publish(workspaceId, { ...selection, transformations });
    expect(result).toEqual({
      published: false,
      message: "Some of the code does not pass its tests",
      validationOutput: {
        libraries: [
          {
            id: library.resource.id,
            name: "Lib",
            handleName: "lib",
            versionId: library.revision.versionId,
            pass: true,
          },
        ],
        transformations: [
          {
            id: transformation.resource.id,
            externalId: "ext",
            name: "User",
            versionId: transformation.revision.versionId,
            imports: ["lib"],
            pass: false,
            testResult: {
              status: "error",
              results: [
                {
                  id: "events",
                  name: "Test events",
                  status: "error",
                  actualOutput: [],
                  errors: [
                    {
                      message: "Error: as marked",
                      line: 2,
                      column: 9,
                      event: { a: 1 },
                      eventIndex: 0,
                    },
                  ],
                  logs: ["Log: ran"],
                },
              ],
            },
          },
        ],
      },
    });
    expect(view(house)).toEqual([[], []]);
  });

  test("refuses unknown versions, nothing at all, and one thing twice", async () => {
    const { house, selection, transformation } = await draftPair();
    const { workspaceId, publishing } = house;
    const publish = (given: object) => () =>
      publishing.publish(workspaceId, { transformations: [], libraries: [], ...given });
    const swapped = { libraries: selection.transformations };
    expect((await refusalOf(publish(swapped))).refusal).toBe("missing");
    expect((await refusalOf(publish({ libraries: [{ versionId: "x" }] }))).refusal).toBe("missing");
    expect((await refusalOf(publish({}))).refusal).toBe("invalid");
    const update = { code: "", publish: false };
    const { id } = transformation.resource;
    const next = await publishing.update(workspaceId, "transformation", id, update);
    const both = [...selection.transformations, { versionId: next.revision.versionId }];
    const twice = await refusalOf(publish({ transformations: both }));
    expect([twice.refusal, twice.details?.[0]?.path]).toEqual(["invalid", "/transformations/1"]);
    expect(view(house)).toEqual([[], []]);
  });

  test("two libraries of one import name are a conflict", async () => {
    const { house, selection } = await draftPair();
    const { workspaceId, publishing } = house;
    const second = await publishing.create(workspaceId, "library", code({ name: "LIB" }));
    const libraries = [...selection.libraries, { versionId: second.revision.versionId }];
    const given = { transformations: [], libraries };
    for (const verb of [publishing.publish, publishing.test, publishing.runSuites]) {
      expect((await refusalOf(() => verb(workspaceId, given))).refusal).toBe("conflict");
    }
  });

  test("shows an importer that a library breaks, and no other", async () => {
    const { house, selection, library } = await draftPair();
    const { workspaceId, publishing } = house;
    await publishing.publish(workspaceId, selection);
    const change = { code: "BROKEN", publish: false };
    const { id } = library.resource;
    const broken = await publishing.update(workspaceId, "library", id, change);
    const libraries = [{ versionId: broken.revision.versionId }];
    const before = view(house);
    const result = await publishing.publish(workspaceId, { transformations: [], libraries });
    if (result.published) throw new Error("Expected a refusal");
    expect(result.validationOutput.libraries.map(({ pass }) => pass)).toEqual([false]);
    expect(result.validationOutput.transformations.map(({ name, pass }) => [name, pass])).toEqual([
      ["User", false],
    ]);
    expect(view(house)).toEqual(before);
  });

  test("leaves out an importer that it does not break", async () => {
    const { house, selection, library } = await draftPair();
    const { workspaceId, publishing } = house;
    await publishing.publish(workspaceId, selection);
    const events = [{ type: "track" }];
    const other = code({ name: "Other", code: 'from "lib" TRACKS', publish: true, events });
    await publishing.create(workspaceId, "transformation", other);
    const change = { code: "TRACKS", publish: false };
    const { id } = library.resource;
    const next = await publishing.update(workspaceId, "library", id, change);
    const libraries = [{ versionId: next.revision.versionId }];
    const result = await publishing.publish(workspaceId, { transformations: [], libraries });
    if (result.published) throw new Error("Expected a refusal");
    const { transformations } = result.validationOutput;
    expect(transformations.map(({ name }) => name)).toEqual(["User"]);
    expect(transformations[0]?.testResult.results[0]?.errors).toHaveLength(1);
  });

  test("tests an importer of two of its libraries once", async () => {
    const { house, selection, library } = await draftPair();
    const { workspaceId, publishing, sandbox } = house;
    const second = code({ name: "Second", publish: true });
    const { revision } = await publishing.create(workspaceId, "library", second);
    const { libraries } = selection;
    await publishing.publish(workspaceId, { transformations: [], libraries });
    const both = code({ name: "Both", code: 'from "lib" from "second"', publish: true });
    await publishing.create(workspaceId, "transformation", both);
    sandbox.checked = [];
    const versions = [library.revision, revision].map(({ versionId }) => ({ versionId }));
    await publishing.publish(workspaceId, { transformations: [], libraries: versions });
    expect(sandbox.checked.map(({ program }) => program.name)).toEqual(["Both"]);
  });

  test("refuses a Python library that cannot be imported", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    const draft = code({ name: "2nd lib", language: "python" });
    const { revision } = await publishing.create(workspaceId, "library", draft);
    const libraries = [{ versionId: revision.versionId }];
    const publish = () => publishing.publish(workspaceId, { transformations: [], libraries });
    const refused = await refusalOf(publish);
    expect([refused.refusal, refused.details?.[0]?.path]).toEqual(["invalid", "/name"]);
  });

  test("restores what was deleted, unlinked", async () => {
    const { house, selection, transformation } = await draftPair();
    const { catalog, workspaceId, publishing } = house;
    await publishing.publish(workspaceId, selection);
    const { id } = transformation.resource;
    const destinationId = await destination(catalog, workspaceId);
    await catalog.code.link(workspaceId, id, destinationId);
    await catalog.code.remove(workspaceId, "transformation", id);
    const { transformations } = selection;
    const restored = await publishing.publish(workspaceId, { transformations, libraries: [] });
    expect(restored).toEqual({ published: true });
    expect(catalog.code.publishedRevision(workspaceId, "transformation", id).resource.deleted).toBe(
      false,
    );
    expect(catalog.code.linkedDestinations(workspaceId, id)).toEqual([]);
  });
});

describe("test runs", () => {
  test("use drafts of the request, and publish nothing", async () => {
    const { house, selection, transformation } = await draftPair();
    const { workspaceId, publishing } = house;
    const transformations = [{ ...selection.transformations[0]!, testInput: [{ a: 1 }] }];
    const { id, revision } = { id: transformation.resource.id, ...transformation };
    expect(await publishing.test(workspaceId, { ...selection, transformations })).toEqual({
      successTestResults: [
        {
          transformerVersionID: revision.versionId,
          id,
          name: "User",
          result: {
            output: { transformedEvents: [{ a: 1, libraries: ["lib"] }], logs: ["Log: ran"] },
          },
        },
      ],
      failedTestResults: [],
    });
    expect(view(house)).toEqual([[], []]);
  });

  test("put an error in the place of its event, and run the default events", async () => {
    const { house, selection } = await draftPair("FAILS");
    const { publishing, workspaceId } = house;
    const { successTestResults, failedTestResults } = await publishing.test(workspaceId, selection);
    const error = { error: "Error: as marked" };
    expect(successTestResults).toEqual([]);
    expect(failedTestResults[0]?.result).toMatchObject({
      ...error,
      output: { transformedEvents: [error, error] },
    });
  });

  test("tell apart what does not load", async () => {
    const { house, transformation } = await draftPair();
    const { workspaceId, publishing } = house;
    const { versionId } = transformation.revision;
    const result = await publishing.test(workspaceId, {
      transformations: [{ versionId }],
      libraries: [],
    });
    const failed = {
      error: "Error: import from lib failed. Module not found.",
      ...{ line: 1, column: 6 },
      output: { transformedEvents: [], logs: [] },
    };
    const { id } = transformation.resource;
    expect(result).toEqual({
      successTestResults: [],
      failedTestResults: [{ transformerVersionID: versionId, id, name: "User", result: failed }],
    });
  });
});

describe("suites", () => {
  test("pass, fail by their output, or end in an error", async () => {
    const { house, selection } = await draftPair();
    const { workspaceId, publishing } = house;
    const input = [{ a: 1, b: { c: 2 } }];
    const output = { libraries: ["lib"], b: { c: 2 }, a: 1 };
    const testSuite = [
      { id: "1", name: "one", description: "d", input, expectedOutput: [output] },
      { id: "2", name: "two", input, expectedOutput: [{ ...output, a: 2 }] },
      { id: "3", name: "three", input },
    ];
    const transformations = [{ ...selection.transformations[0]!, testSuite }];
    const given = { ...selection, transformations };
    const result = await publishing.runSuites(workspaceId, given);
    expect(result).toMatchObject({ pass: false, message: expect.any(String) });
    const [first] = result.validationOutput.transformations;
    expect(first).toMatchObject({ pass: false, testResult: { status: "fail" } });
    expect(first?.testResult.results.map(({ id, status }) => [id, status])).toEqual([
      ["1", "pass"],
      ["2", "fail"],
      ["3", "pass"],
    ]);
    expect(first?.testResult.results[0]).toMatchObject({
      description: "d",
      actualOutput: [output],
    });
    const fine = [{ ...selection.transformations[0]!, testSuite: testSuite.slice(0, 1) }];
    const passed = await publishing.runSuites(workspaceId, { ...selection, transformations: fine });
    expect(passed).toMatchObject({ pass: true });
    expect(passed.message).toBeUndefined();
    expect(view(house)).toEqual([[], []]);
  });

  test("of code that does not load have a message and no result", async () => {
    const { house, selection } = await draftPair("BROKEN");
    const { pass, validationOutput } = await house.publishing.runSuites(
      house.workspaceId,
      selection,
    );
    expect(pass).toBe(false);
    expect(validationOutput.transformations[0]).toMatchObject({
      message: "SyntaxError: as marked",
      testResult: { status: "error", results: [] },
    });
  });
});

test("an error text of any length is cut between characters", () => {
  expect(truncateMessage("x".repeat(100_000))).toHaveLength(GUEST_ERROR_CHARS_MAX);
  const longest = "x".repeat(GUEST_ERROR_CHARS_MAX);
  expect([truncateMessage("short"), truncateMessage(longest)]).toEqual(["short", longest]);
  const start = longest.slice(2);
  expect(truncateMessage(`${start}😀x`)).toBe(`${start}…`);
});
