import { describe, expect, test } from "bun:test";
import { currentCode, namedCode, taggedCode } from "../../../src/api/routes/code/current-code.ts";
import {
  libraryAnswer,
  libraryVersionAnswer,
  listed,
  transformationAnswer,
  transformationVersionAnswer,
} from "../../../src/api/routes/code/revision-answers.ts";
import type { Resource, Revision } from "../../../src/catalog/model.ts";
import { ApiError } from "../../../src/errors.ts";

/** Answers about code and about changes to it, over a catalog in memory. */

const iso = (ms: number) => new Date(ms).toISOString();
const code = 'import { a } from "lib";';
const kind = "transformation" as const;
const revision = (n: number, more: Partial<Revision> = {}): Revision => ({
  ...{ id: "t", workspaceId: "w", kind, versionId: `v${n}`, name: `N${n}`, description: "D" },
  ...{ code, language: "javascript" as const, createdAt: n * 1_000, ...more },
});
const resource = (more: Partial<Resource> = {}): Resource => ({
  ...{ id: "t", workspaceId: "w", kind, language: "javascript" as const, newest: "v2" },
  ...{ deleted: false, createdAt: 500, ...more },
});

interface Scene {
  resource?: Resource;
  revisions?: Revision[];
  /** Imports and note of the published history of a revision. */
  history?: object;
  publication?: object;
  destinations?: object[];
  names?: Record<string, string>;
}

function depsOf({ destinations = [], history = {}, publication, names = {}, ...more }: Scene = {}) {
  const { resource: of = resource(), revisions = [revision(1), revision(2)] } = more;
  const missing = () => {
    throw new ApiError("missing", "Not found");
  };
  const find = (versionId: string) => revisions.find((it) => it.versionId === versionId);
  const named = (_: string, id: string) =>
    names[id] === undefined ? missing() : { name: names[id] };
  const catalog = {
    code: {
      resource: () => of,
      publication: () => publication,
      history: () => history,
      linkedDestinations: () => destinations,
      revision: (_: string, __: string, ___: string, versionId: string) =>
        find(versionId) ?? missing(),
      revisionByVersion: (_: string, __: string, versionId: string) => find(versionId) ?? missing(),
      newestRevision: () => ({ resource: of, revision: find(of.newest) }),
    },
    workspaces: { get: (id: string) => (id === "w" ? { name: "Acme" } : undefined) },
    ...{ tokens: { get: named }, members: { get: named } },
  };
  return { catalog, python: "python" } as unknown as Parameters<typeof transformationAnswer>[0];
}

describe("a revision", () => {
  const shown = {
    ...{ id: "t", versionId: "v1", name: "N1", description: "D", code, language: "javascript" },
    ...{ workspaceId: "w", createdAt: iso(1_000), updatedAt: iso(1_000), imports: ["lib"] },
    ...{ isPublished: false, wasPublished: false, codeVersion: "1" },
  };

  test("is shown with what its code imports, and as live if it is", () => {
    const show = (scene: Scene, of = revision(1)) =>
      transformationVersionAnswer(depsOf(scene), of) as object;
    expect(show({})).toStrictEqual(shown);
    const stored = revision(1, { imports: ["b"] });
    expect(show({}, stored)).toStrictEqual({ ...shown, imports: ["b"] });
    const live = { resource: resource({ published: "v1" }), publication: { imports: ["c"] } };
    const isLive = { isPublished: true, wasPublished: true };
    expect(show(live, stored)).toStrictEqual({ ...shown, ...isLive, imports: ["c"] });
    const { publication: _, ...older } = live;
    expect(show(older, stored)).toStrictEqual({ ...shown, ...isLive, imports: ["b"] });
    const other = { resource: resource({ published: "v2" }), publication: { imports: ["c"] } };
    expect(show(other)).toStrictEqual(shown);
    const once = { history: { imports: [], note: "why" }, resource: resource({ externalId: "e" }) };
    expect(show(once)).toStrictEqual({
      ...shown,
      wasPublished: true,
      note: "why",
      externalId: "e",
    });
  });

  test("names its author: the member, or else the token, and the token itself", () => {
    const author = (createdBy: object) => {
      const of = revision(1, { createdBy: createdBy as never });
      const { createdBy: by, createdWith } = transformationVersionAnswer(depsOf(), of);
      return [by, createdWith];
    };
    expect(author({ tokenId: "k" })).toEqual(["k", "k"]);
    expect(author({ tokenId: "k", memberId: "m" })).toEqual(["m", "k"]);
  });

  test("in Python has the name of the language that the server is set to", () => {
    const of = (language: string) =>
      transformationVersionAnswer(depsOf(), revision(1, { language: language as never })).language;
    expect(["pythonfaas", "python", "javascript"].map(of)).toEqual([
      ...(["python", "python", "javascript"] as const),
    ]);
  });

  test("of a library has the name by which code imports it", () => {
    const { codeVersion: _, ...common } = shown;
    const answer = (more: Partial<Revision>) =>
      libraryVersionAnswer(depsOf(), revision(1, more)) as object;
    expect(answer({ importName: "n1" })).toStrictEqual({ ...common, importName: "n1" });
    expect(answer({})).toStrictEqual({ ...common, importName: "" });
  });
});

test("code is shown with the times of its first and its newest revision, its links and its warnings", () => {
  const of = { resource: resource({ published: "v1" }), revision: revision(1) };
  const destinations = [{ id: "d", name: "D", enabled: true, config: {} }];
  const deps = depsOf({ ...of, destinations });
  const plain = transformationAnswer(deps, of, false) as object;
  expect(plain).toMatchObject({
    ...{ versionId: "v1", createdAt: iso(500), updatedAt: iso(2_000), publishedVersionId: "v1" },
  });
  for (const key of ["destinations", "warnings"]) expect(plain).not.toHaveProperty(key);
  const linked = { ...of, warnings: ["Slow"] };
  expect(transformationAnswer(deps, linked) as object).toStrictEqual({
    ...{ ...plain, destinations: [{ id: "d", name: "D", enabled: true }], warnings: ["Slow"] },
  });
  const draft = { resource: resource(), revision: revision(2), warnings: [] };
  const library = libraryAnswer(depsOf(draft), draft);
  expect(library).toMatchObject({ importName: "", workspace: { id: "w", name: "Acme" } });
  for (const key of ["publishedVersionId", "warnings"]) expect(library).not.toHaveProperty(key);
  const named = { ...draft, revision: revision(2, { importName: "n2" }) };
  expect(libraryAnswer(depsOf(named), named).importName).toBe("n2");
  const lost = { ...draft, resource: resource({ workspaceId: "x" }) };
  expect(libraryAnswer(depsOf(lost), lost).workspace).toEqual({ id: "x", name: "" });
  expect(listed({ code: "c", a: 1 }, true) as object).toEqual({ code: "c", a: 1 });
  expect(listed({ code: "c", a: 1 }, false) as object).toStrictEqual({ a: 1 });
});

describe("the tag of code", () => {
  const tagOf = (more: Partial<Resource> = {}, destinations: object[] = []) =>
    taggedCode(depsOf({ destinations }), resource(more), {}).tag;

  test("begins with the newest revision, and is another one after each change", () => {
    expect(tagOf()).toMatch(/^v2\.[\w-]{22}$/);
    expect(tagOf()).toBe(tagOf());
    const link = { id: "d", name: "D", enabled: true };
    const tags = [
      ...[{}, { newest: "v3" }, { published: "v2" }, { externalId: "e" }, { note: "n" }].map((it) =>
        tagOf(it),
      ),
      ...[{}, { id: "e" }, { name: "E" }, { enabled: false }].map((it) =>
        tagOf({}, [{ ...link, ...it }]),
      ),
    ];
    expect(new Set(tags).size).toBe(tags.length);
    // Nothing else of a destination is shown.
    expect(tagOf({}, [{ ...link, config: {} }])).toBe(tagOf({}, [link]));
    // A library has no destinations.
    expect(tagOf({ kind: "library" }, [link])).toBe(tagOf({ kind: "library" }));
  });

  const currentOf = (scene: Scene, of: "transformation" | "library" = kind) => {
    const call = { deps: depsOf(scene), workspaceId: "w", params: { id: "t" }, body: {} };
    return currentCode(of)(call as never)[0]!;
  };

  test("that is outdated tells who saved another revision, or what else has changed", () => {
    const by = (createdBy?: object, names?: Record<string, string>) => {
      const newest = revision(2, createdBy === undefined ? {} : { createdBy: createdBy as never });
      const scene = { revisions: [revision(1), newest], ...(names && { names }) };
      return currentOf(scene).changeSince(["v1.a"]);
    };
    const saved = (who: string) => `${who} saved another revision at ${iso(2_000)}`;
    expect(by({ tokenId: "k" }, { k: "CI" })).toBe(saved("CI"));
    expect(by({ tokenId: "k", memberId: "m" }, { k: "CI", m: "A\u0000d\u200ba" })).toBe(
      saved("Ada"),
    );
    for (const unknown of [by(), by({ tokenId: "k" }), by({ tokenId: "k" }, { k: "\u0007" })]) {
      expect(unknown).toBe(saved("another user"));
    }
    const rest = "has changed without a new revision, for example by a publication";
    const { changeSince } = currentOf({});
    expect(changeSince(["v1.a", "v2.b"])).toBe(`the transformation ${rest}`);
    expect(currentOf({}, "library").changeSince(["v2.b"])).toBe(`the library ${rest}`);
    expect(changeSince(["v2"])).toBe(saved("another user"));
  });

  test("that is outdated leads to the revision that it was made for, if there is one", () => {
    const { earlier, now } = currentOf({ destinations: [{ id: "d", name: "D", enabled: true }] });
    expect(earlier!(["none.a", "v1.b"])).toMatchObject({
      versionId: "v1",
      destinations: [{ id: "d" }],
    });
    expect(earlier!(["none.a", "v3"])).toBeUndefined();
    expect(now.answer).toMatchObject({ versionId: "v2", destinations: [{ id: "d" }] });
    const library = currentOf(
      { revisions: [revision(1), revision(2, { importName: "n" })] },
      "library",
    );
    expect(library.now.answer).toMatchObject({ importName: "n" });
    expect(library.now.answer).not.toHaveProperty("destinations");
  });

  test("of revisions that a request names is that of each, and of none where one is deleted", () => {
    const named = ["v1", "v2"].map((versionId) => ({ kind, versionId }) as const);
    const found = namedCode(depsOf(), "w", named);
    expect(found.map(({ now }) => now.answer)).toMatchObject([
      { versionId: "v2" },
      { versionId: "v2" },
    ]);
    expect(namedCode(depsOf({ resource: resource({ deleted: true }) }), "w", named)).toEqual([]);
    expect(() => namedCode(depsOf(), "w", [{ kind, versionId: "none" }])).toThrow("Not found");
  });
});
