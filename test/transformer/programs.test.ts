import { expect, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { CodeKind, Revision } from "../../src/catalog/model.ts";
import { ApiError } from "../../src/errors.ts";
import { type ProgramRequest, Programs } from "../../src/transformer/programs.ts";

/** Number of revisions that are kept in memory. */
const KEPT = 1_024;

interface Stored {
  revision: Revision;
  /** Undefined for a version that was never published. */
  imports: string[] | undefined;
}

const stored = (kind: CodeKind, versionId: string, more: Partial<Revision> = {}): Stored => ({
  revision: {
    ...({ id: versionId, workspaceId: "w1", kind, versionId, name: versionId } as Revision),
    code: `code of ${versionId}`,
    language: "javascript",
    ...more,
  },
  imports: more.imports ?? [],
});

/** Programs over a catalog with `rows`, and the versions that were read from it. */
function programsOf(rows: Stored[], { current = async () => {}, credentials = {} } = {}) {
  const read: string[] = [];
  const catalog = {
    current,
    live: { credentials: (workspaceId: string) => (workspaceId === "w1" ? credentials : {}) },
    code: {
      revisionByVersion(workspaceId: string, kind: CodeKind, versionId: string) {
        read.push(versionId);
        const found = rows.find(
          ({ revision: it }) => it.versionId === versionId && it.kind === kind,
        );
        if (found?.revision.workspaceId !== workspaceId) throw new ApiError("missing", "Not found");
        return found.revision;
      },
      history: (revision: Revision) => ({
        imports: rows.find((it) => it.revision === revision)!.imports,
      }),
      libraryByImportName: (_workspaceId: string, language: string, importName: string) =>
        rows.findLast(
          ({ revision: it }) => it.importName === importName && it.language === language,
        )?.revision,
    },
  };
  const programs = new Programs(catalog as unknown as Catalog);
  const find = (versionId: string, more: Partial<ProgramRequest> = {}) =>
    programs.find({
      workspaceId: "w1",
      versionId,
      libraryVersionIds: [],
      credentials: {},
      ...more,
    });
  return { find, read };
}

test("a version that another node published a moment ago is found once this node is current", async () => {
  const rows: Stored[] = [];
  const { find } = programsOf(rows, {
    current: async () => void rows.push(stored("transformation", "t1")),
  });
  expect(await find("t1")).toMatchObject({ workspaceId: "w1", code: "code of t1", name: "t1" });
});

test("a draft, another workspace's version and an unknown one are no programs", async () => {
  const draft = { ...stored("transformation", "draft"), imports: undefined };
  const theirs = stored("transformation", "theirs", { workspaceId: "w2" });
  const { find } = programsOf([draft, theirs, stored("library", "library")]);
  const found = await Promise.all(["draft", "theirs", "library", "x"].map((it) => find(it)));
  expect(found).toEqual([undefined, undefined, undefined, undefined]);
});

test("it is an error when a version is unknown and the other nodes cannot be asked", async () => {
  const error = new ApiError("unavailable", "No brokers");
  const { find } = programsOf([stored("transformation", "t1")], {
    current: () => Promise.reject(error),
  });
  await expect(find("t2")).rejects.toBe(error);
  expect(await find("t1")).toMatchObject({ name: "t1" });
});

test("a version is read once, while it is among the last ones", async () => {
  const rows = Array.from({ length: KEPT + 1 }, (_, n) => stored("transformation", `t${n}`));
  const { find, read } = programsOf(rows);
  for (let n = 0; n < KEPT; n++) await find(`t${n}`);
  expect(read).toHaveLength(KEPT);
  await find("t0");
  expect(read).toHaveLength(KEPT);
  await find(`t${KEPT}`);
  await find("t1");
  expect(read).toHaveLength(KEPT + 1);
  await find("t0");
  expect(read.slice(KEPT)).toEqual([`t${KEPT}`, "t0"]);
});

test("programs with other credentials have other ids, whatever the order of the credentials", async () => {
  const { find } = programsOf([
    stored("transformation", "t1", { imports: ["one"] }),
    stored("library", "l1", { importName: "one" }),
  ]);
  const idOf = async (credentials: Record<string, string>) =>
    (await find("t1", { credentials }))!.id;
  const both = await idOf({ a: "1", b: "2" });
  expect(await idOf({ b: "2", a: "1" })).toBe(both);
  const others = [{}, { a: "1" }, { a: "2", b: "1" }, { a: "1", b: "2", c: "" }];
  const ids = [both, ...(await Promise.all(others.map(idOf)))];
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids[1]).toBe("t1+l1+0");
  expect(both).toMatch(/^t1\+l1\+[\w-]{43}$/);
});

test("credentials of the request come before those of the workspace", async () => {
  const credentials = { stored: "s1", both: "s2" };
  const { find } = programsOf([stored("transformation", "t1")], { credentials });
  const program = await find("t1", { credentials: { both: "r2", sent: "r3" } });
  expect(program!.credentials).toEqual({ stored: "s1", both: "r2", sent: "r3" });
});

test("a library that the request names counts for its own language alone", async () => {
  const importName = "shared";
  const python = { importName, language: "pythonfaas" as const };
  const { find } = programsOf([
    stored("transformation", "js", { imports: [importName] }),
    stored("transformation", "py", { imports: [importName], language: "python" }),
    stored("library", "js1", { importName }),
    stored("library", "js2", { importName }),
    stored("library", "py1", python),
    stored("library", "py2", { ...python, language: "python" }),
  ]);
  const libraries = async (versionId: string, ...libraryVersionIds: string[]) =>
    (await find(versionId, { libraryVersionIds }))!.libraries.map((it) => it.versionId);
  expect(await libraries("js", "py1", "js1")).toEqual(["js1"]);
  expect(await libraries("py", "py1", "js1")).toEqual(["py1"]);
  // The published one is used where the request names none, or one that was never published.
  expect(await libraries("js", "py1", "x")).toEqual(["js2"]);
  expect(await libraries("py")).toEqual(["py2"]);
});
