import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CodeSelection } from "../../src/publishing/publisher.ts";
import { runs } from "../tier.ts";
import { code, freshPublishing, type House, view } from "./_setup.ts";

/**
 * Live code: the libraries `lib` and `other`, the library `outer`, which imports `lib`, and the
 * transformations `Direct`, which imports `lib` and `other`, and `Through`, which imports `outer`.
 */
async function live() {
  const house = await freshPublishing();
  const names = ["lib", "other", "outer", "Direct", "Through"] as const;
  const texts: Record<(typeof names)[number], string> = {
    lib: "",
    other: "",
    outer: 'from "lib"',
    Direct: 'from "lib" from "other"',
    Through: 'from "outer"',
  };
  const ids = new Map<string, string>();
  const versions = new Map<string, string>();
  for (const name of names) {
    const input = code({ name, code: texts[name], language: "python", publish: true });
    const { resource, revision } = await house.publishing.create(
      house.workspaceId,
      kindOf(name),
      input,
    );
    ids.set(name, resource.id);
    versions.set(name, revision.versionId);
  }
  return {
    house,
    liveVersion: (name: string) => versions.get(name)!,
    async draft(name: (typeof names)[number], marks: string) {
      const change = { code: `${texts[name]} ${marks}`, publish: false };
      const id = ids.get(name)!;
      return house.publishing.update(house.workspaceId, kindOf(name), id, change);
    },
  };
}
type Live = Awaited<ReturnType<typeof live>>;

/** A view without the newest versions, which drafts change. */
const withoutNewest = (it: unknown) =>
  JSON.parse(JSON.stringify(it, (key, value) => (key === "newest" ? undefined : value)));

const kindOf = (name: string) => (/^[A-Z]/.test(name) ? "transformation" : "library");

const publish = ({ publishing, workspaceId }: House, selection: Partial<CodeSelection>) =>
  publishing.publish(workspaceId, { transformations: [], libraries: [], ...selection });

/** Makes a request that publishes a library with `marks`; each names other code beside it. */
const requests: Record<
  string,
  (it: Live, marks: string) => Promise<{ libraries: string[]; transformations: string[] }>
> = {
  "a library alone": async ({ draft }, marks) => ({
    libraries: [(await draft("lib", marks)).revision.versionId],
    transformations: [],
  }),
  "a library with its importers at their live versions": async (it, marks) => ({
    libraries: [(await it.draft("lib", marks)).revision.versionId],
    transformations: [it.liveVersion("Direct"), it.liveVersion("Through")],
  }),
  "a library with one of its importers at its live version": async (it, marks) => ({
    libraries: [(await it.draft("lib", marks)).revision.versionId],
    transformations: [it.liveVersion("Direct")],
  }),
  "a library with all its importers at their live versions": async (it, marks) => ({
    libraries: [(await it.draft("lib", marks)).revision.versionId, it.liveVersion("outer")],
    transformations: [it.liveVersion("Direct"), it.liveVersion("Through")],
  }),
  "a library with its importers at new versions": async ({ draft }, marks) => ({
    libraries: [(await draft("lib", marks)).revision.versionId],
    transformations: [
      (await draft("Direct", "new")).revision.versionId,
      (await draft("Through", "new")).revision.versionId,
    ],
  }),
  "two libraries, of which the second is new to its importer": async (it, marks) => ({
    libraries: [
      (await it.draft("other", "fine")).revision.versionId,
      (await it.draft("lib", marks)).revision.versionId,
    ],
    transformations: [it.liveVersion("Direct")],
  }),
  "a library that a library imports": async (it, marks) => ({
    libraries: [(await it.draft("outer", marks)).revision.versionId],
    transformations: [it.liveVersion("Through")],
  }),
};

async function select(it: Live, name: string, marks: string): Promise<CodeSelection> {
  const { libraries, transformations } = await requests[name]!(it, marks);
  return {
    libraries: libraries.map((versionId) => ({ versionId })),
    transformations: transformations.map((versionId) => ({ versionId })),
  };
}

test.each(Object.keys(requests))(
  "publishing %s is refused while it breaks live code",
  async (name) => {
    const it = await live();
    const before = view(it.house);
    for (const marks of ["BROKEN", "FAILS"]) {
      const result = await publish(it.house, await select(it, name, marks));
      expect([marks, result]).toMatchObject([marks, { published: false, validationOutput: {} }]);
      expect(withoutNewest(view(it.house))).toEqual(withoutNewest(before));
    }
    expect(await publish(it.house, await select(it, name, "fine"))).toEqual({ published: true });
  },
);

test("an output that differs from the expected one refuses the library that changes it", async () => {
  const { house, draft, liveVersion } = await live();
  const input = [{ type: "track" }];
  const expectedOutput = [{ type: "track", libraries: ["", ""] }];
  const suite = { id: "s", name: "S", input, expectedOutput };
  const transformations = [{ versionId: liveVersion("Direct"), testSuite: [suite] }];
  expect(await publish(house, { transformations })).toEqual({ published: true });
  const { revision } = await draft("lib", "changed");
  const before = view(house);
  const libraries = [{ versionId: revision.versionId }];
  const result = await publish(house, { libraries, transformations });
  expect(result).toMatchObject({
    published: false,
    validationOutput: { transformations: [{ pass: false, testResult: { status: "fail" } }] },
  });
  expect(view(house)).toEqual(before);
});

test("a live transformation that failed before refuses no library beside it", async () => {
  const { house, draft } = await live();
  const input = code({ name: "Tracks", code: 'TRACKS from "lib"', language: "python" });
  const events = [{ type: "track" }];
  const { revision } = await house.publishing.create(house.workspaceId, "transformation", {
    ...input,
    publish: true,
    events,
  });
  // Its stored events now fail, whatever library it runs with.
  const page = [{ type: "page" }];
  await publish(house, {
    transformations: [{ versionId: revision.versionId, testInput: page }],
  });
  const libraries = [{ versionId: (await draft("lib", "fine")).revision.versionId }];
  const transformations = [{ versionId: revision.versionId }];
  expect(await publish(house, { libraries, transformations })).toMatchObject({ published: true });
});

test("a library that live code imports directly is not deleted", async () => {
  const { house } = await live();
  const { catalog, workspaceId } = house;
  for (const name of ["lib", "other", "outer"]) {
    const { id } = catalog.code.libraryByImportName(workspaceId, "python", name)!;
    await expect(catalog.code.remove(workspaceId, "library", id)).rejects.toThrow("is imported by");
  }
});

test("no sequence of publishes of new versions leaves live code that fails", async () => {
  const name = fc.constantFrom("lib", "other", "outer", "Direct", "Through");
  const marks = fc.constantFrom("fine", "FAILS", "BROKEN");
  const request = fc.array(fc.tuple(name, marks, fc.boolean()), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 4 }), async (sequence) => {
      const it = await live();
      const { catalog, workspaceId, publishing } = it.house;
      const liveCode = (kind: "library" | "transformation") =>
        [...catalog.code.listPublished(workspaceId, kind)].map(({ revision }) => ({
          name: revision.name,
          versionId: revision.versionId,
        }));
      for (const items of sequence) {
        const named = new Map(items.map((item) => [item[0], item]));
        const selection: CodeSelection = { transformations: [], libraries: [] };
        for (const [name, marks, isNew] of named.values()) {
          const lists = { library: selection.libraries, transformation: selection.transformations };
          const kind = kindOf(name);
          const version = isNew
            ? (await it.draft(name as "lib", marks)).revision.versionId
            : liveCode(kind).find((live) => live.name === name)!.versionId;
          lists[kind].push({ versionId: version });
        }
        await publish(it.house, selection);
        const libraries = liveCode("library");
        const transformations = liveCode("transformation");
        const tested = await publishing.test(workspaceId, { libraries, transformations });
        expect(tested.failedTestResults).toEqual([]);
      }
    }),
    { numRuns: runs(4, 300) },
  );
});
