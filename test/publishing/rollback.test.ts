import { describe, expect, test } from "bun:test";
import type { CodeSelection, TestEvent } from "../../src/publishing/publisher.ts";
import { TEST_EVENTS_KEPT_BYTES_MAX } from "../../src/settings/limits.ts";
import { code, freshPublishing, type House, publish, refusalOf } from "./_setup.ts";

const track = { type: "track" };

/** A transformation whose revisions are published one after another; the last one is live. */
async function published(house: House, ...codes: { code: string; events?: TestEvent[] }[]) {
  const { workspaceId, publishing } = house;
  const [first, ...others] = codes;
  const input = code({ name: "T", publish: true, ...first });
  const { resource, revision } = await publishing.create(workspaceId, "transformation", input);
  const versions = [revision.versionId];
  for (const other of others) {
    const change = { publish: true, ...other };
    const next = await publishing.update(workspaceId, "transformation", resource.id, change);
    versions.push(next.revision.versionId);
  }
  return { id: resource.id, versions };
}

const publishing =
  ({ workspaceId, publishing }: House) =>
  (more: Partial<CodeSelection>) =>
    publishing.publish(workspaceId, { transformations: [], libraries: [], ...more });

describe("a revision that was published before", () => {
  test("is tested with the events it was published with", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId, sandbox } = house;
    const given = { code: "TRACKS", events: [track, track, track] };
    const { id, versions } = await published(house, given, { code: "" });
    sandbox.checked = [];
    const result = await publishing(house)({ transformations: [{ versionId: versions[0]! }] });
    expect(result).toEqual({ published: true });
    expect(sandbox.checked.map(({ events }) => events)).toEqual([3]);
    expect(catalog.code.resource(workspaceId, "transformation", id).published).toBe(versions[0]!);
  });

  test("is published although its tests fail now, which the answer says", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId } = house;
    const library = code({ name: "Lib", publish: true });
    const lib = await house.publishing.create(workspaceId, "library", library);
    const { id, versions } = await published(house, { code: 'from "lib"' }, { code: "" });
    const change = { code: "FAILS", publish: true };
    await house.publishing.update(workspaceId, "library", lib.resource.id, change);
    const back = { transformations: [{ versionId: versions[0]! }] };
    expect(await publishing(house)(back)).toEqual({
      published: true,
      warnings: [
        "T: test event 1: Error: as marked (line 2)",
        "T: test event 2: Error: as marked (line 2)",
      ],
    });
    const { published: live } = catalog.code.resource(workspaceId, "transformation", id);
    expect(live).toBe(versions[0]!);
    expect(await publishing(house)({ libraries: [{ versionId: lib.revision.versionId }] })).toEqual(
      { published: true },
    );
  });

  test("excuses no other code of its request", async () => {
    const house = await freshPublishing();
    const { workspaceId } = house;
    const { versions } = await published(house, { code: "" }, { code: "x" });
    const failing = code({ name: "New", code: "FAILS" });
    const draft = await house.publishing.create(workspaceId, "transformation", failing);
    const result = await publishing(house)({
      transformations: [{ versionId: versions[0]! }, { versionId: draft.revision.versionId }],
    });
    expect(result.published).toBe(false);
  });

  test("is published although its library is gone, or its resource was deleted", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId } = house;
    const library = code({ name: "Lib", publish: true });
    const lib = await house.publishing.create(workspaceId, "library", library);
    const { id, versions } = await published(house, { code: 'from "lib"' });
    await catalog.code.remove(workspaceId, "transformation", id);
    await catalog.code.remove(workspaceId, "library", lib.resource.id);
    expect(await publishing(house)({ transformations: [{ versionId: versions[0]! }] })).toEqual({
      published: true,
      warnings: ["T: Error: import from lib failed. Module not found. (line 1)"],
    });
  });

  test("of a library warns of importers that it breaks", async () => {
    const house = await freshPublishing();
    const { workspaceId } = house;
    const library = code({ name: "Lib", publish: true, code: "TRACKS" });
    const lib = await house.publishing.create(workspaceId, "library", library);
    const change = { code: "", publish: true };
    await house.publishing.update(workspaceId, "library", lib.resource.id, change);
    await published(house, { code: 'from "lib"' });
    const back = { libraries: [{ versionId: lib.revision.versionId }] };
    expect(await publishing(house)(back)).toEqual({
      published: true,
      warnings: ["T: test event 1: Error: as marked (line 2)"],
    });
  });

  test("is not published when the caller hangs up meanwhile", async () => {
    const house = await freshPublishing();
    const { versions } = await published(house, { code: "" }, { code: "x" });
    const caller = new AbortController();
    house.sandbox.meanwhile = async () => caller.abort();
    const back = { transformations: [{ versionId: versions[0]! }], caller: caller.signal };
    expect((await refusalOf(() => publishing(house)(back))).refusal).toBe("unavailable");
  });
});

describe("test events", () => {
  test("that came with a draft are used when it is published, those of a publish kept", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId, sandbox } = house;
    const input = code({ code: "TRACKS", events: [track] });
    const { revision } = await house.publishing.create(workspaceId, "transformation", input);
    const { versionId } = revision;
    expect(await publishing(house)({ transformations: [{ versionId }] })).toEqual({
      published: true,
    });
    expect(sandbox.checked.map(({ events }) => events)).toEqual([1]);
    const suite = { id: "s", name: "S", input: [track, track], expectedOutput: [] };
    await publishing(house)({ transformations: [{ versionId, testSuite: [suite] }] });
    expect(catalog.code.history(revision).events).toEqual([track, track]);
    await publishing(house)({ transformations: [{ versionId, testInput: [{ ...track, n: 1 }] }] });
    expect(catalog.code.history(revision).events).toEqual([{ ...track, n: 1 }]);
  });

  test("of importers are those they were published with", async () => {
    const house = await freshPublishing();
    const { workspaceId, sandbox } = house;
    const library = code({ name: "Lib", publish: true });
    const lib = await house.publishing.create(workspaceId, "library", library);
    await published(house, { code: 'from "lib" TRACKS', events: [track, track, track] });
    sandbox.checked = [];
    const change = { code: "x", publish: true };
    await house.publishing.update(workspaceId, "library", lib.resource.id, change);
    expect(sandbox.checked.map(({ events }) => events)).toEqual([3]);
  });

  test("are kept up to their limit, the first ones", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId } = house;
    const events = Array.from({ length: 9 }, (_, n) => {
      return { ...track, n, text: "x".repeat(TEST_EVENTS_KEPT_BYTES_MAX / 4) };
    });
    const input = code({ publish: true, events });
    const { revision } = await house.publishing.create(workspaceId, "transformation", input);
    expect(catalog.code.history(revision).events?.map(({ n }) => n)).toEqual([0, 1, 2]);
  });
});

test("live code that fails as before is published with a library, and its failures are warnings", async () => {
  const house = await freshPublishing();
  const { workspaceId } = house;
  const library = code({ name: "Lib", publish: true });
  const lib = await house.publishing.create(workspaceId, "library", library);
  const input = code({ name: "T", code: 'from "lib" FAILS', events: [track] });
  const live = await house.publishing.create(workspaceId, "transformation", input);
  // Like code that was published when it did not fail yet.
  await publish(house.catalog, live.revision, ["lib"]);
  const next = { code: "new", publish: false };
  const { revision } = await house.publishing.update(workspaceId, "library", lib.resource.id, next);
  const result = await publishing(house)({
    libraries: [{ versionId: revision.versionId }],
    transformations: [{ versionId: live.revision.versionId }],
  });
  expect(result).toEqual({
    published: true,
    warnings: ["T: test event 1: Error: as marked (line 2)"],
  });
});

describe("code that drops every test event", () => {
  const warning = "T: the code drops every test event; does it return it?";

  test("is published with a warning", async () => {
    const house = await freshPublishing();
    const { workspaceId } = house;
    const input = code({ name: "T", code: "DROPS", publish: true });
    const { resource, warnings, revision } = await house.publishing.create(
      workspaceId,
      "transformation",
      input,
    );
    expect([resource.published, warnings]).toEqual([revision.versionId, [warning]]);
    const transformations = [{ versionId: revision.versionId }];
    expect(await publishing(house)({ transformations })).toEqual({
      published: true,
      warnings: [warning],
    });
    const draft = { code: "DROPS", publish: false };
    const next = await house.publishing.update(workspaceId, "transformation", resource.id, draft);
    expect(next.warnings).toEqual([]);
  });

  test("is not warned of when the tests expect it", async () => {
    const house = await freshPublishing();
    const input = code({ name: "T", code: "DROPS" });
    const draft = await house.publishing.create(house.workspaceId, "transformation", input);
    const suite = { id: "s", name: "S", input: [track], expectedOutput: [] };
    const transformations = [{ versionId: draft.revision.versionId, testSuite: [suite] }];
    expect(await publishing(house)({ transformations })).toEqual({ published: true });
  });
});
