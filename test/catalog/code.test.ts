import { describe, expect, onTestFinished, setSystemTime, spyOn, test } from "bun:test";
import { newId, timeOf } from "../../src/catalog/ids.ts";
import {
  CODE_BYTES_MAX,
  NAME_CHARS_MAX,
  TEST_EVENTS_KEPT_BYTES_MAX,
} from "../../src/settings/limits.ts";
import { destination, freshWorkspace, publish, refusalOf, store } from "./_setup.ts";

const nothing = { revisions: [], publish: [], links: [], usedLibraries: [] };

describe("a commit", () => {
  test("keeps the first test events and the external id that come with a new revision", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "Mine", code: "one", language: "javascript" as const };
    const revision = catalog.code.draft(workspaceId, "transformation", input);
    const { kind, id, versionId } = revision;
    const events = [
      { event: "one" },
      { event: "two", text: "x".repeat(TEST_EVENTS_KEPT_BYTES_MAX) },
    ];
    await catalog.code.commit(workspaceId, {
      ...nothing,
      revisions: [revision],
      events: [{ versionId, events }],
      externalIds: [{ kind, id, externalId: "mine" }],
    });
    expect(catalog.code.history(revision).events).toEqual([{ event: "one" }]);
    expect(catalog.code.resource(workspaceId, kind, id).externalId).toBe("mine");
  });

  test("is refused when a resource has a newer revision than the one it is based on", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const first = await store(catalog, workspaceId, "transformation");
    const revise = (code: string) =>
      catalog.code.revise(workspaceId, "transformation", first.id, { code });
    const based = { kind: first.kind, id: first.id, versionId: first.versionId };
    const change = { ...nothing, revisions: [revise("two")], basedOn: [based] };
    const late = { ...change, revisions: [revise("three")] };
    expect(() => catalog.code.expectNewest(workspaceId, late)).not.toThrow();
    await catalog.code.commit(workspaceId, change);
    for (const refused of [
      () => catalog.code.expectNewest(workspaceId, late),
      () => catalog.code.commit(workspaceId, late),
    ]) {
      expect((await refusalOf(refused)).message).toStartWith("Another revision was made");
    }
    const { revision } = catalog.code.newestRevision(workspaceId, "transformation", first.id);
    expect(revision.code).toBe("two");
  });
});

describe("revisions", () => {
  test("a draft is found by its versions, and not among the published", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const revision = await store(catalog, workspaceId, "transformation", { name: "  Mine " });
    const { id, versionId } = revision;
    expect(revision).toMatchObject({ name: "Mine", description: "", workspaceId });
    expect(catalog.code.newestRevision(workspaceId, "transformation", id).revision).toEqual(
      revision,
    );
    expect(catalog.code.revision(workspaceId, "transformation", id, versionId)).toEqual(revision);
    const published = () => catalog.code.publishedRevision(workspaceId, "transformation", id);
    expect((await refusalOf(published)).message).toStartWith("Transformation is not published:");
    expect([...catalog.code.listPublished(workspaceId, "transformation")]).toEqual([]);
    expect((await refusalOf(() => catalog.code.resource(workspaceId, "library", id))).refusal).toBe(
      "missing",
    );
  });

  test("an update keeps the fields that it does not name, and the published version", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "Mine", description: "d", code: "one" };
    expect(catalog.code.revisionCount(workspaceId)).toBe(0);
    const first = await store(catalog, workspaceId, "transformation", input);
    await publish(catalog, first);
    expect(catalog.code.revisionCount(workspaceId)).toBe(1);
    const second = catalog.code.revise(workspaceId, "transformation", first.id, { code: "two" });
    await catalog.code.commit(workspaceId, { ...nothing, revisions: [second] });
    expect(second).toMatchObject({ ...input, code: "two" });
    expect(second.createdAt).toBeGreaterThan(first.createdAt);
    expect(catalog.code.revisionCount(workspaceId)).toBe(2);
    expect(
      catalog.code.publishedRevision(workspaceId, "transformation", first.id).revision,
    ).toEqual(first);
    expect(catalog.code.newestRevision(workspaceId, "transformation", first.id).revision).toEqual(
      second,
    );
  });

  test("revisions keep their order when the clock steps back", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const first = await store(catalog, workspaceId, "transformation");
    setSystemTime(new Date(first.createdAt - 60_000));
    onTestFinished(() => void setSystemTime());
    const second = catalog.code.revise(workspaceId, "transformation", first.id, { code: "two" });
    await catalog.code.commit(workspaceId, { ...nothing, revisions: [second] });
    expect(second.createdAt).toBeGreaterThan(first.createdAt);
    expect(catalog.code.newestRevision(workspaceId, "transformation", first.id).revision).toEqual(
      second,
    );
  });

  test("a revision is the newest also if the id before is of a process whose clock was ahead", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "Mine", code: "one", language: "javascript" as const };
    const drafted = catalog.code.draft(workspaceId, "transformation", input);
    const first = { ...drafted, versionId: newId(Date.now() + 600_000) };
    await catalog.code.commit(workspaceId, { ...nothing, revisions: [first] });
    // Ids of this process ascend, so that only one of another process may be behind.
    const ids = spyOn(Date, "now").mockReturnValue(first.createdAt + 5_000);
    onTestFinished(() => ids.mockRestore());
    const second = catalog.code.revise(workspaceId, "transformation", first.id, { code: "two" });
    expect(timeOf(second.versionId)).toBeGreaterThan(timeOf(first.versionId));
    expect(second.createdAt).toBeGreaterThan(timeOf(first.versionId));
  });

  test("versions are listed by creation, both ways, drafts and deleted too", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const made = [await store(catalog, workspaceId, "transformation")];
    for (let index = 0; index < 6; index++) {
      const next = catalog.code.revise(workspaceId, "transformation", made[0]!.id, {
        code: `${index}`,
      });
      await catalog.code.commit(workspaceId, { ...nothing, revisions: [next] });
      made.push(next);
    }
    await catalog.code.remove(workspaceId, "transformation", made[0]!.id);
    const list = (count: number, order: "asc" | "desc") => [
      ...catalog.code.revisions(workspaceId, "transformation", made[0]!.id, { count, order }),
    ];
    expect(list(3, "asc")).toEqual(made.slice(0, 3));
    expect(list(2, "desc")).toEqual(made.toReversed().slice(0, 2));
    expect(list(1_000, "asc")).toEqual(made);
  });

  test("the language and a library's name cannot be changed", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id } = await store(catalog, workspaceId, "library", {
      name: "My lib",
      language: "python",
    });
    const amend = (input: object) => () => catalog.code.revise(workspaceId, "library", id, input);
    expect((await refusalOf(amend({ language: "javascript" }))).message).toBe(
      "Language cannot be changed",
    );
    expect((await refusalOf(amend({ name: "Other" }))).message).toBe(
      "Library name cannot be changed",
    );
    const same = catalog.code.revise(workspaceId, "library", id, {
      name: " My lib ",
      language: "pythonfaas",
    });
    expect(same).toMatchObject({ language: "python", importName: "myLib" });
  });

  test.each([
    ["/name", { name: "   " }],
    ["/name", { name: "x".repeat(NAME_CHARS_MAX + 1) }],
    ["/name", { name: "!!!" }],
    ["/description", { description: "x".repeat(5_000) }],
    ["/code", { code: "é".repeat(CODE_BYTES_MAX / 2 + 1) }],
  ])("what is wrong at %s is said", async (path, input) => {
    const { catalog, workspaceId } = await freshWorkspace();
    const refused = await refusalOf(() => store(catalog, workspaceId, "library", input));
    expect([refused.refusal, refused.details?.[0]?.path]).toEqual(["invalid", path]);
  });

  test("a revision of the greatest size reads back whole", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const revision = await store(catalog, workspaceId, "transformation", {
      name: "n".repeat(NAME_CHARS_MAX),
      code: "x".repeat(CODE_BYTES_MAX),
    });
    const { id, versionId } = revision;
    expect(catalog.code.revision(workspaceId, "transformation", id, versionId)).toEqual(revision);
  });

  test("64 updates at once leave 64 revisions", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id } = await store(catalog, workspaceId, "transformation");
    const updates = Array.from({ length: 64 }, async (_, index) => {
      const next = catalog.code.revise(workspaceId, "transformation", id, { code: `${index}` });
      await catalog.code.commit(workspaceId, { ...nothing, revisions: [next] });
      return next.versionId;
    });
    expect(new Set(await Promise.all(updates)).size).toBe(64);
    const versions = [
      ...catalog.code.revisions(workspaceId, "transformation", id, {
        count: 99,
        order: "asc",
      }),
    ];
    expect(versions).toHaveLength(65);
    expect(new Set(versions.map(({ code }) => code)).size).toBe(65);
  });
});

describe("publishing", () => {
  test("publishing is all or nothing", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const [one, two] = [
      await store(catalog, workspaceId, "transformation"),
      catalog.code.draft(workspaceId, "transformation", {
        name: "Two",
        code: "",
        language: "javascript",
      }),
    ];
    const publish = [one, two].map(({ kind, id, versionId }) => ({
      kind,
      id,
      versionId,
      imports: [],
    }));
    const links = [{ transformationId: one.id, destinationId: "0".repeat(27) }];
    const change = { revisions: [two], publish, links, usedLibraries: [] };
    expect((await refusalOf(() => catalog.code.commit(workspaceId, change))).message).toBe(
      "Destination not found",
    );
    expect([...catalog.code.listPublished(workspaceId, "transformation")]).toEqual([]);
    const gone = () => catalog.code.resource(workspaceId, "transformation", two.id);
    expect((await refusalOf(gone)).refusal).toBe("missing");
  });

  test("an import name has one published library per language", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const first = await store(catalog, workspaceId, "library", { name: "My lib" });
    const second = await store(catalog, workspaceId, "library", { name: "my-lib" });
    const python = await store(catalog, workspaceId, "library", {
      name: "my lib",
      language: "python",
    });
    const faas = await store(catalog, workspaceId, "library", {
      name: "my lib",
      language: "pythonfaas",
    });
    await publish(catalog, first);
    expect((await refusalOf(() => publish(catalog, second))).refusal).toBe("conflict");
    await publish(catalog, python);
    expect((await refusalOf(() => publish(catalog, faas))).refusal).toBe("conflict");
    const find = () => catalog.code.libraryByImportName(workspaceId, "javascript", "myLib")?.id;
    expect(find()).toBe(first.id);
    await catalog.code.remove(workspaceId, "library", first.id);
    expect(find()).toBeUndefined();
    await publish(catalog, second);
    expect(find()).toBe(second.id);
    expect((await refusalOf(() => publish(catalog, first))).refusal).toBe("conflict");
  });

  test("a library that published code imports cannot be deleted", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const library = await store(catalog, workspaceId, "library", { name: "Lib" });
    const user = await store(catalog, workspaceId, "transformation", { name: "User" });
    await publish(catalog, library);
    await publish(catalog, user, ["lib"]);
    expect(
      catalog.code.importers(workspaceId, "javascript", "lib").map(({ revision }) => revision),
    ).toEqual([user]);
    const remove = () => catalog.code.remove(workspaceId, "library", library.id);
    const refused = await refusalOf(remove);
    expect(refused.refusal).toBe("conflict");
    expect(refused.message).toContain("User");
    const without = catalog.code.revise(workspaceId, "transformation", user.id, { code: "none" });
    await catalog.code.commit(workspaceId, { ...nothing, revisions: [without] });
    await publish(catalog, without, []);
    expect(catalog.code.importers(workspaceId, "javascript", "lib")).toEqual([]);
    await remove();
    expect((await refusalOf(remove)).refusal).toBe("missing");
  });

  test("publishing a version of a deleted resource restores it, without its links", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const revision = await store(catalog, workspaceId, "transformation");
    const destinationId = await destination(catalog, workspaceId);
    await publish(catalog, revision);
    await catalog.code.link(workspaceId, revision.id, destinationId);
    await catalog.code.remove(workspaceId, "transformation", revision.id);
    expect(catalog.live.program(destinationId)).toBeUndefined();
    const amend = () => catalog.code.revise(workspaceId, "transformation", revision.id, {});
    expect((await refusalOf(amend)).refusal).toBe("missing");
    await publish(catalog, revision);
    expect(
      catalog.code.publishedRevision(workspaceId, "transformation", revision.id).revision,
    ).toEqual(revision);
    expect(catalog.code.linkedDestinations(workspaceId, revision.id)).toEqual([]);
  });

  test("an update of a resource that was deleted meanwhile is refused", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id } = await store(catalog, workspaceId, "transformation");
    const late = catalog.code.revise(workspaceId, "transformation", id, { code: "late" });
    await catalog.code.remove(workspaceId, "transformation", id);
    const commit = () => catalog.code.commit(workspaceId, { ...nothing, revisions: [late] });
    expect((await refusalOf(commit)).refusal).toBe("missing");
  });

  test("a commit is refused when a library changed since its tests", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const first = await store(catalog, workspaceId, "library", { name: "Lib" });
    const user = await store(catalog, workspaceId, "transformation");
    const usedLibraries = [
      { importName: "lib", language: "javascript" as const, versionId: first.versionId },
    ];
    const item = { kind: user.kind, id: user.id, versionId: user.versionId, imports: ["lib"] };
    const commit = () =>
      catalog.code.commit(workspaceId, { ...nothing, publish: [item], usedLibraries });
    expect(await refusalOf(commit)).toMatchObject({ refusal: "conflict", stale: true });
    await publish(catalog, first);
    const blind = { ...nothing, publish: [item] };
    const unseen = await refusalOf(() => catalog.code.commit(workspaceId, blind));
    expect(unseen).toMatchObject({ stale: true });
    await commit();

    const second = catalog.code.revise(workspaceId, "library", first.id, { code: "two" });
    await catalog.code.commit(workspaceId, { ...nothing, revisions: [second] });
    expect(await refusalOf(() => publish(catalog, second))).toMatchObject({ stale: true });
    const library = { kind: second.kind, id: second.id, versionId: second.versionId, imports: [] };
    const testedImporters = [{ versionId: user.versionId }];
    await catalog.code.commit(workspaceId, { ...nothing, publish: [library], testedImporters });
    expect(await refusalOf(commit)).toMatchObject({ stale: true });
  });
});

test("code that imports a library through another one must be tested with it (Python)", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const python = { language: "python" as const };
  const inner = await store(catalog, workspaceId, "library", { name: "inner", ...python });
  const outer = await store(catalog, workspaceId, "library", { name: "outer", ...python });
  const user = await store(catalog, workspaceId, "transformation", python);
  await publish(catalog, inner);
  await publish(catalog, outer, ["inner"]);
  await publish(catalog, user, ["outer"]);
  const { kind, id, versionId } = inner;
  const commit = (testedImporters: { versionId: string }[]) => () =>
    catalog.code.commit(workspaceId, {
      ...nothing,
      publish: [{ kind, id, versionId, imports: [] }],
      testedImporters,
    });
  expect(await refusalOf(commit([outer]))).toMatchObject({ stale: true });
  await commit([outer, user])();
});

describe("links", () => {
  test("a link needs a published transformation", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id } = await store(catalog, workspaceId, "transformation");
    const link = async () =>
      catalog.code.link(workspaceId, id, await destination(catalog, workspaceId));
    const refused = await refusalOf(link);
    expect([refused.refusal, refused.message]).toEqual([
      "invalid",
      "Transformation is not published",
    ]);
  });

  test("a new link of a destination replaces its old one", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const [one, two] = [
      await store(catalog, workspaceId, "transformation"),
      await store(catalog, workspaceId, "transformation"),
    ];
    for (const revision of [one, two]) await publish(catalog, revision);
    const [first, second] = [
      await destination(catalog, workspaceId),
      await destination(catalog, workspaceId),
    ];
    const linked = (id: string) =>
      catalog.code.linkedDestinations(workspaceId, id).map((found) => found.id);
    const linkOf = (id: string) =>
      catalog.code.linkedTransformation(catalog.destinations.get(workspaceId, id));
    await catalog.code.link(workspaceId, one.id, second);
    await catalog.code.link(workspaceId, one.id, first);
    await catalog.code.link(workspaceId, one.id, second);
    expect(linked(one.id)).toEqual([second, first]);
    await catalog.code.link(workspaceId, two.id, second);
    expect([linked(one.id), linked(two.id)]).toEqual([[first], [second]]);
    expect(linkOf(second)).toBe(two.id);
    await catalog.code.unlink(workspaceId, one.id, second);
    expect(linkOf(second)).toBe(two.id);
    await catalog.code.unlink(workspaceId, two.id, second);
    await catalog.code.unlink(workspaceId, two.id, second);
    expect(linkOf(second)).toBeUndefined();
  });
});

test("external ids are kept with the resource", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { id } = await store(catalog, workspaceId, "library");
  await catalog.code.setExternalId(workspaceId, "library", id, "tf-1");
  expect(catalog.code.resource(workspaceId, "library", id).externalId).toBe("tf-1");
  await catalog.code.remove(workspaceId, "library", id);
  const set = () => catalog.code.setExternalId(workspaceId, "library", id, "tf-2");
  expect((await refusalOf(set)).refusal).toBe("missing");
});
