import { describe, expect, test } from "bun:test";
import { createPublisher, PUBLISH_ATTEMPTS_MAX } from "../../src/publishing/create-publisher.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { code, destination, freshPublishing, publish, refusalOf, view } from "./_setup.ts";

describe("drafts", () => {
  test("are stored unread, broken ones too, and link nothing", async () => {
    const { catalog, workspaceId, publishing, sandbox } = await freshPublishing();
    const destinationIds = [await destination(catalog, workspaceId)];
    const input = code({ code: "BROKEN", externalId: "x-1", destinationIds });
    const { resource, revision } = await publishing.create(workspaceId, "transformation", input);
    expect(resource).toMatchObject({ newest: revision.versionId, externalId: "x-1" });
    expect(resource.published).toBeUndefined();
    expect(catalog.code.linkedDestinations(workspaceId, resource.id)).toEqual([]);
    expect([sandbox.inspected, sandbox.checked]).toEqual([[], []]);
  });

  test("of a library may share an import name", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    await publishing.create(workspaceId, "library", code({ name: "Lib", publish: true }));
    const second = await publishing.create(workspaceId, "library", code({ name: "lib" }));
    expect(second.revision.importName).toBe("lib");
  });
});

describe("a transformation", () => {
  test("is tested with a page and a track when no events come", async () => {
    const { workspaceId, publishing, sandbox } = await freshPublishing();
    const input = code({ publish: true });
    const { resource, revision } = await publishing.create(workspaceId, "transformation", input);
    expect(resource.published).toBe(revision.versionId);
    expect(sandbox.checked.map(({ events }) => events)).toEqual([2]);
  });

  test("is linked to the destinations of the request", async () => {
    const { catalog, workspaceId, publishing } = await freshPublishing();
    const one = await destination(catalog, workspaceId);
    const two = await destination(catalog, workspaceId);
    const input = code({ publish: true, destinationIds: [two, one] });
    const { resource } = await publishing.create(workspaceId, "transformation", input);
    expect(catalog.code.linkedDestinations(workspaceId, resource.id).map(({ id }) => id)).toEqual([
      two,
      one,
    ]);
  });

  test("with an unknown destination runs and stores nothing", async () => {
    const house = await freshPublishing();
    const { workspaceId, publishing, sandbox } = house;
    const input = code({ publish: true, destinationIds: ["nope"] });
    const create = () => publishing.create(workspaceId, "transformation", input);
    expect((await refusalOf(create)).refusal).toBe("missing");
    expect(sandbox.inspected).toEqual([]);
    expect(view(house)).toEqual([[], []]);
  });

  test("that fails events is refused with each of them, and nothing is stored", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId, publishing } = house;
    const input = code({ code: "FAILS", publish: true, events: [{ a: 1 }, { a: 2 }] });
    const create = () => publishing.create(workspaceId, "transformation", input);
    const refused = await refusalOf(create);
    expect(refused).toMatchObject({
      refusal: "invalid",
      message: "The code does not pass its tests",
    });
    expect(refused.details).toEqual([
      { path: "/events/0", message: "Error: as marked", line: 2, column: 9 },
      { path: "/events/1", message: "Error: as marked", line: 2, column: 9 },
    ]);
    expect(view(house)).toEqual([[], []]);

    const fine = await publishing.create(workspaceId, "transformation", code({ publish: true }));
    const before = view(house);
    const broken = { code: "BROKEN", publish: true };
    const update = () => publishing.update(workspaceId, "transformation", fine.resource.id, broken);
    expect((await refusalOf(update)).details).toEqual([
      { path: "/code", message: "SyntaxError: as marked", line: 1, column: 3 },
    ]);
    expect(view(house)).toEqual(before);
    const options = { count: 9, order: "asc" as const };
    const { id } = fine.resource;
    expect([...catalog.code.revisions(workspaceId, "transformation", id, options)]).toHaveLength(1);
  });

  test("imports published libraries of its workspace and language only", async () => {
    const house = await freshPublishing();
    const { catalog, workspaceId, publishing } = house;
    const other = (await catalog.workspaces.create("Other")).id;
    await publishing.create(other, "library", code({ name: "Lib", publish: true }));
    const python = code({ name: "Lib", language: "python", publish: true });
    await publishing.create(workspaceId, "library", python);
    const draft = await publishing.create(workspaceId, "library", code({ name: "Lib" }));
    const input = code({ code: 'import {a} from "lib"; import b from "lib"', publish: true });
    const create = () => publishing.create(workspaceId, "transformation", input);
    const message = "Error: import from lib failed. Module not found.";
    expect((await refusalOf(create)).details).toEqual([
      { path: "/code", message, line: 1, column: 17 },
    ]);
    const libraries = [{ versionId: draft.revision.versionId }];
    await publishing.publish(workspaceId, { transformations: [], libraries });
    const { resource } = await create();
    expect(catalog.code.publication(resource)?.imports).toEqual(["lib"]);
  });

  test("is tested with the workspace's credentials", async () => {
    const { catalog, workspaceId, publishing, sandbox } = await freshPublishing();
    await catalog.credentials.put(workspaceId, "key", "value");
    await publishing.create(workspaceId, "transformation", code({ publish: true }));
    expect(sandbox.checked[0]?.program.credentials).toEqual({ key: "value" });
  });

  test("that cannot be tested now is refused for now", async () => {
    const { workspaceId, publishing, sandbox } = await freshPublishing();
    sandbox.meanwhile = () => Promise.reject(new SandboxUnavailable("none"));
    const create = () => publishing.create(workspaceId, "transformation", code({ publish: true }));
    expect((await refusalOf(create)).refusal).toBe("unavailable");
  });
});

describe("updates", () => {
  test("at once lose no field of each other", async () => {
    const { catalog, workspaceId, publishing } = await freshPublishing();
    const { resource } = await publishing.create(workspaceId, "transformation", code());
    const changes = [{ name: "New" }, { description: "New" }, { code: "DROPS" }];
    const updates = changes.map((change) =>
      publishing.update(workspaceId, "transformation", resource.id, { ...change, publish: true }),
    );
    await Promise.all(updates);
    expect(
      catalog.code.publishedRevision(workspaceId, "transformation", resource.id).revision,
    ).toMatchObject({ name: "New", description: "New", code: "DROPS" });
  });

  test("64 at once leave 64 revisions in the order of the calls, the last one published", async () => {
    const { catalog, workspaceId, publishing } = await freshPublishing();
    const { resource } = await publishing.create(workspaceId, "transformation", code());
    const { id } = resource;
    const texts = Array.from({ length: 64 }, (_, index) => `// ${index}`);
    const updates = texts.map((text, index) =>
      publishing.update(workspaceId, "transformation", id, {
        code: text,
        publish: index % 2 === 1,
      }),
    );
    const versionIds = (await Promise.all(updates)).map(({ revision }) => revision.versionId);
    expect(new Set(versionIds).size).toBe(64);
    const options = { count: 65, order: "asc" as const };
    const stored = [...catalog.code.revisions(workspaceId, "transformation", id, options)];
    expect(stored.slice(1).map((revision) => revision.code)).toEqual(texts);
    expect(catalog.code.resource(workspaceId, "transformation", id)).toMatchObject({
      newest: versionIds[63],
      published: versionIds[63],
    });
  });

  test("after one that failed still work", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    const { resource } = await publishing.create(workspaceId, "transformation", code());
    const update = (text: string) =>
      publishing.update(workspaceId, "transformation", resource.id, { code: text, publish: true });
    const [failed, fine] = await Promise.allSettled([update("FAILS"), update("")]);
    expect([failed?.status, fine?.status]).toEqual(["rejected", "fulfilled"]);
  });

  test("keep language and a library's name", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    const { resource } = await publishing.create(workspaceId, "library", code());
    const update = (input: object) => () =>
      publishing.update(workspaceId, "library", resource.id, { ...input, publish: false });
    const renamed = await refusalOf(update({ name: "Other" }));
    expect(renamed.message).toBe("Library name cannot be changed");
    const translated = await refusalOf(update({ language: "python" }));
    expect(translated.message).toBe("Language cannot be changed");
  });
});

describe("a library", () => {
  test("in JavaScript imports none", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    await publishing.create(workspaceId, "library", code({ name: "A", publish: true }));
    const input = code({ name: "B", code: 'import "x" from "a"', publish: true });
    const refused = await refusalOf(() => publishing.create(workspaceId, "library", input));
    expect(refused.details?.[0]?.message).toContain("cannot import libraries");
  });

  test("in Python imports others", async () => {
    const { catalog, workspaceId, publishing } = await freshPublishing();
    const python = { language: "pythonfaas", publish: true } as const;
    await publishing.create(workspaceId, "library", code({ name: "a", ...python }));
    const input = code({ name: "b", code: 'from "a" from "json"', ...python });
    const { resource } = await publishing.create(workspaceId, "library", input);
    expect(catalog.code.publication(resource)?.imports).toEqual(["a", "json"]);
    const remove = () => {
      const a = catalog.code.libraryByImportName(workspaceId, "python", "a");
      return catalog.code.remove(workspaceId, "library", a?.id ?? "");
    };
    expect((await refusalOf(remove)).refusal).toBe("conflict");
  });

  test("needs a free import name, in Python an identifier", async () => {
    const { workspaceId, publishing } = await freshPublishing();
    await publishing.create(workspaceId, "library", code({ name: "My lib", publish: true }));
    const same = code({ name: "my lib", publish: true });
    const twice = await refusalOf(() => publishing.create(workspaceId, "library", same));
    expect(twice.refusal).toBe("conflict");
    const python = code({ name: "2nd lib", language: "python", publish: true });
    const digit = await refusalOf(() => publishing.create(workspaceId, "library", python));
    expect([digit.refusal, digit.details?.[0]?.path]).toEqual(["invalid", "/name"]);
    const draft = await publishing.create(workspaceId, "library", { ...python, publish: false });
    expect(draft.revision.importName).toBe("2ndLib");
  });

  test("is tested with every published importer", async () => {
    const house = await freshPublishing();
    const { workspaceId, publishing, sandbox } = house;
    const library = await publishing.create(
      workspaceId,
      "library",
      code({ name: "Lib", publish: true }),
    );
    const user = code({ name: "User", code: 'from "lib"', publish: true });
    await publishing.create(workspaceId, "transformation", user);
    sandbox.checked = [];
    const { id } = library.resource;
    await publishing.update(workspaceId, "library", id, { code: "new", publish: true });
    expect(
      sandbox.checked.map(({ program }) => [program.name, program.libraries[0]?.code]),
    ).toEqual([["User", "new"]]);
    const before = view(house);
    const broken = { code: "BROKEN", publish: true };
    const refused = await refusalOf(() => publishing.update(workspaceId, "library", id, broken));
    expect(refused.details?.map(({ message }) => message)).toEqual([
      "SyntaxError: as marked",
      "User: SyntaxError: as marked",
    ]);
    expect(view(house)).toEqual(before);
  });
});

test("an importer that fails default events anyway does not hold its library back", async () => {
  const { workspaceId, publishing } = await freshPublishing();
  const { resource } = await publishing.create(
    workspaceId,
    "library",
    code({ name: "Lib", publish: true }),
  );
  const events = [{ type: "track" }];
  const user = code({ name: "User", code: 'from "lib" TRACKS', publish: true, events });
  await publishing.create(workspaceId, "transformation", user);
  const update = (text: string) =>
    publishing.update(workspaceId, "library", resource.id, { code: text, publish: true });
  await update("new");
  const refused = await refusalOf(() => update("FAILS"));
  expect(refused.details).toEqual([
    { path: "/code", message: "User: Error: as marked", line: 2, column: 9 },
  ]);
});

test("an importer that does not load anyway does not hold its library back", async () => {
  const { catalog, workspaceId, publishing } = await freshPublishing();
  const { resource } = await publishing.create(
    workspaceId,
    "library",
    code({ name: "Lib", publish: true }),
  );
  const user = code({ code: 'from "lib" BROKEN' });
  const { revision } = await publishing.create(workspaceId, "transformation", user);
  // Like code that was published when an older guest still accepted it.
  await publish(catalog, revision, ["lib"]);
  const change = { code: "new", publish: true };
  const updated = await publishing.update(workspaceId, "library", resource.id, change);
  expect(updated.resource.published).toBe(updated.revision.versionId);
});

describe("what changes during a test", () => {
  test("a library that moved on is used in its new version", async () => {
    const { catalog, workspaceId, publishing, sandbox } = await freshPublishing();
    const library = await publishing.create(
      workspaceId,
      "library",
      code({ name: "Lib", code: "1", publish: true }),
    );
    let updates = 1;
    sandbox.meanwhile = async () => {
      if (updates-- <= 0) return;
      const change = { code: "2", publish: true };
      await publishing.update(workspaceId, "library", library.resource.id, change);
    };
    const user = code({ code: 'from "lib"', publish: true });
    const { resource } = await publishing.create(workspaceId, "transformation", user);
    const tested = sandbox.checked.map(({ program }) => program.libraries[0]?.code);
    expect(tested).toEqual(["1", "2"]);
    expect(resource.published).toBeDefined();
    expect([...catalog.code.listPublished(workspaceId, "transformation")]).toHaveLength(1);
  });

  test("an importer that was published meanwhile is tested too", async () => {
    const { workspaceId, publishing, sandbox } = await freshPublishing();
    const library = await publishing.create(
      workspaceId,
      "library",
      code({ name: "Lib", publish: true }),
    );
    const user = (name: string, mark = "") =>
      code({ name, code: `from "lib" ${mark}`, publish: true });
    await publishing.create(workspaceId, "transformation", user("First"));
    let arrivals = 1;
    sandbox.meanwhile = async () => {
      if (arrivals-- > 0) await publishing.create(workspaceId, "transformation", user("Second"));
    };
    sandbox.checked = [];
    await publishing.update(workspaceId, "library", library.resource.id, {
      code: "new",
      publish: true,
    });
    const tested = sandbox.checked.map(({ program }) => [program.name, program.libraries[0]?.code]);
    expect(tested.slice(-2).sort()).toEqual([
      ["First", "new"],
      ["Second", "new"],
    ]);
  });

  test("code that changes during every test is a conflict", async () => {
    const { workspaceId, publishing, sandbox } = await freshPublishing();
    const library = await publishing.create(
      workspaceId,
      "library",
      code({ name: "Lib", publish: true }),
    );
    sandbox.meanwhile = async () => {
      const change = { description: `${sandbox.checked.length}`, publish: true };
      await publishing.update(workspaceId, "library", library.resource.id, change);
    };
    const user = code({ name: "User", code: 'from "lib"', publish: true });
    const refused = await refusalOf(() => publishing.create(workspaceId, "transformation", user));
    expect(refused).toMatchObject({ refusal: "conflict", stale: true });
    const tests = sandbox.checked.filter(({ program }) => program.name === "User");
    expect(tests.length).toBe(PUBLISH_ATTEMPTS_MAX);
  });
});

describe("updates by several nodes at once", () => {
  /** Each node makes its updates take turns, and knows nothing of the others' turns. */
  const twoNodes = async () => {
    const { publishing: one, ...house } = await freshPublishing();
    const other = createPublisher(house);
    const { resource } = await one.create(house.workspaceId, "transformation", code());
    return { ...house, one, other, id: resource.id };
  };

  test("keep what each of them changes", async () => {
    const { catalog, workspaceId, one, other, id } = await twoNodes();
    await Promise.all([
      one.update(workspaceId, "transformation", id, { code: "new", publish: false }),
      other.update(workspaceId, "transformation", id, { description: "new", publish: false }),
    ]);
    const { revision } = catalog.code.newestRevision(workspaceId, "transformation", id);
    expect([revision.code, revision.description]).toEqual(["new", "new"]);
  });

  test("publish the newest, though tests of an older one end later", async () => {
    const { catalog, workspaceId, sandbox, one, other, id } = await twoNodes();
    const ended = Promise.withResolvers<void>();
    sandbox.meanwhile = async (program) => {
      if (program.code === "slow") await ended.promise;
    };
    const update = (node: typeof one, text: string) =>
      node.update(workspaceId, "transformation", id, { code: text, publish: true });
    const slow = update(one, "slow");
    await update(other, "fast");
    ended.resolve();
    const { revision, resource } = await slow;
    const found = catalog.code.resource(workspaceId, "transformation", id);
    expect(resource).toEqual(found);
    expect([found.published, found.newest]).toEqual([revision.versionId, revision.versionId]);
  });

  test("of code that was deleted meanwhile are answered so, also where tests fail without its library", async () => {
    const { catalog, workspaceId, sandbox, one } = await twoNodes();
    const library = code({ name: "Lib", publish: true });
    const kit = await one.create(workspaceId, "library", library);
    const user = code({ name: "User", code: 'from "lib"', publish: true });
    const { id } = (await one.create(workspaceId, "transformation", user)).resource;
    let isDeleted = false;
    sandbox.meanwhile = async () => {
      if (isDeleted) return;
      isDeleted = true;
      await catalog.code.remove(workspaceId, "transformation", id);
      await catalog.code.remove(workspaceId, "library", kit.resource.id);
    };
    const updating = one.update(workspaceId, "transformation", id, user);
    expect((await refusalOf(() => updating)).refusal).toBe("missing");
  });
});
