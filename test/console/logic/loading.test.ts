import { beforeEach, describe, expect, test } from "bun:test";
import { startPage } from "./page.ts";

const page = startPage();
const { allPages } = await import("../../../src/console/data/all-pages.ts");
const { loadPart, PartNotLoaded } = await import("../../../src/console/data/load-part.ts");
const { screens } = await import("../../../src/console/screens.ts");
const { editorLanguage, isPython, libraries, transformations } = await import(
  "../../../src/console/code-kinds/code-kind.ts"
);
const { starterCode, trialCode } = await import("../../../src/console/code/samples/sample-code.ts");
const { labelOfType, listDestinationTypes, optionOf, typeOf } = await import(
  "../../../src/console/destinations/destination-types.ts"
);

beforeEach(() => {
  page.asked.length = 0;
  page.answer = () => ({});
});

describe("all pages of a list", () => {
  /** Loads a list of `pages` pages, each with its number as the only item. */
  async function load(pages: number) {
    const asked: number[] = [];
    const found = await allPages(
      async (page) => {
        asked.push(page);
        return { item: page, paging: { total: pages, ...(page < pages && { next: "n" }) } };
      },
      ({ item }) => [item],
    );
    return { asked, found };
  }

  test("are loaded one after another", async () => {
    expect(await load(1)).toEqual({ asked: [1], found: { items: [1], total: 1 } });
    expect(await load(3)).toEqual({ asked: [1, 2, 3], found: { items: [1, 2, 3], total: 3 } });
  });

  test("are at most ten, with the number of all items", async () => {
    const { asked, found } = await load(11);
    expect([asked.length, found.items.length, found.total]).toEqual([10, 10, 11]);
    expect((await load(10)).asked).toHaveLength(10);
  });
});

test("a part of the console that cannot be loaded has an error of its own", async () => {
  expect(await loadPart(async () => 7)).toBe(7);
  const cause = new Error("404");
  const error = await loadPart(() => Promise.reject(cause)).catch((it) => it);
  expect(error).toBeInstanceOf(PartNotLoaded);
  expect(error.cause).toBe(cause);
});

test.each(screens.map(({ name, load }) => [name || "overview", load] as const))(
  "the screen %s is loaded from its file",
  async (_, load) => {
    expect((await load()).Screen).toBeFunction();
  },
);

describe("the types of destinations", () => {
  const types = (["pixelmill", "rudder-server"] as const).flatMap((deliveredBy) =>
    ["Webhook", "KAFKA"].map((type) => ({ type, deliveredBy, config: {} })),
  );

  test("are found by name and by who delivers them, whatever the case of the name", async () => {
    page.answer = () => ({ destinationTypes: types });
    const loaded = await listDestinationTypes();
    expect(page.asked.map(({ route }) => route)).toEqual(["GET /v2/destination-types"]);
    expect(loaded).toEqual(types);
    for (const type of types) {
      expect(typeOf(loaded, { ...type, type: type.type.toUpperCase() })).toEqual(type);
    }
    expect(typeOf(loaded, { type: "none", deliveredBy: "pixelmill" })).toBeUndefined();
  });

  test("have options and labels of their own", () => {
    expect(types.map(optionOf)).toEqual([
      ...["webhook", "kafka", "rudder-server webhook", "rudder-server kafka"],
    ]);
    const labels = types.map(labelOfType);
    expect(labels.slice(0, 2)).toEqual(["Webhook", "KAFKA"]);
    expect(labels[2]).toContain("Webhook");
    expect(new Set(labels).size).toBe(4);
  });
});

describe.each([
  ["transformation", "transformations", transformations],
  ["library", "libraries", libraries],
] as const)("code of the kind %s", (name, path, kind) => {
  const revision = { versionId: "v", code: "a\r\nb\rc\n" };
  const read = { versionId: "v", code: "a\nb\nc\n" };
  const request = () => {
    const { route, query, body, headers } = page.asked.at(-1)!;
    return [route, query, body, headers.get("if-match")];
  };

  test("is listed by its name and in pages", async () => {
    page.answer = () => ({ code: [revision], total: 7 });
    expect(await kind.list({ page: 2, count: 50, text: "a" })).toEqual({
      ...{ items: [revision] as never, total: 7 },
    });
    const query = { page: "2", count: "50", text: "a", kind: name };
    expect(request()).toEqual(["GET /v2/code", query, undefined, null]);
  });

  test("is read with the line ends of the editor", async () => {
    page.answer = () => Response.json(revision, { headers: { ETag: '"1"' } });
    expect((await kind.getNewest("i")) as object).toEqual({ answer: read, tag: '"1"' });
    expect(request()).toEqual([`GET /${path}/i`, { draft: "true" }, undefined, null]);
    expect((await kind.getPublished("i")) as object).toEqual(read);
    expect(request()).toEqual([`GET /${path}/i`, {}, undefined, null]);
    expect((await kind.getRevision("i", "v")) as object).toEqual(read);
    expect(request()).toEqual([`GET /${path}/i/versions/v`, {}, undefined, null]);
    page.answer = () => ({ versions: [revision, revision] });
    expect((await kind.listRevisions("i", 3)) as object[]).toEqual([read, read]);
    const query = { count: "3", orderBy: "desc" };
    expect(request()).toEqual([`GET /${path}/i/versions`, query, undefined, null]);
  });

  test("is changed only in the version that the user has seen", async () => {
    const change = { code: "c", description: "d", events: [{}], language: "javascript" as const };
    await kind.save("i", change, true, '"1"');
    const { events, language, ...saved } = change;
    const own = kind === libraries ? { language } : { events };
    expect(request()).toEqual([
      ...[`POST /${path}/i`, { publish: "true" }, { ...saved, ...own }, '"1"'],
    ]);
    await kind.publish("v", '"1"', { events: [{}], note: "why" });
    const revisions =
      kind === libraries
        ? { libraries: ["v"] }
        : { transformations: [{ versionId: "v", testInput: [{}] }] };
    expect(request()).toEqual([
      ...["POST /libraries/publish", {}, { ...revisions, note: "why" }, '"1"'],
    ]);
    await kind.publish("v", undefined, {});
    expect(request()[2]).toEqual(
      kind === libraries ? { libraries: ["v"] } : { transformations: [{ versionId: "v" }] },
    );
    await kind.remove("i", '"1"');
    expect(request()).toEqual([`DELETE /${path}/i`, {}, undefined, '"1"']);
  });
});

test("the first code of a draft is that of its kind and language", () => {
  const languages = ["javascript", "pythonfaas"] as never[];
  const codes = [transformations, libraries].flatMap((kind) =>
    languages.map((language) => starterCode(kind, language).split("(")[0]),
  );
  expect(codes).toEqual([
    ...["export function transformEvent", "def transformEvent"],
    ...["export const shout = ", "def shout"],
  ]);
});

test("the first code that calls a library imports what the library exports", () => {
  const library = (language: string, code: string) =>
    trialCode(libraries, { importName: "tools", language, code } as never).split("\n")[0];
  expect(library("javascript", "const a = 1;\nexport const b = 2;")).toBe(
    'import { b } from "tools";',
  );
  expect(library("javascript", "")).toBe('import { name } from "tools";');
  expect(library("pythonfaas", "def b(): pass")).toBe("import tools");
  expect(trialCode(transformations, { language: "javascript", code: "" } as never)).toBe("");
});

test("each language of user code has a mode of the editor", () => {
  const languages = ["javascript", "python", "pythonfaas"] as never[];
  expect(languages.map(isPython)).toEqual([false, true, true]);
  expect(languages.map(editorLanguage)).toEqual(["javascript", "python", "python"]);
});
