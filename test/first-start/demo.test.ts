import { afterEach, beforeEach, expect, test } from "bun:test";
import { pino } from "pino";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { CodeKind, Workspace } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { ApiError } from "../../src/errors.ts";
import { showDemo } from "../../src/first-start/demo.ts";
import { store } from "../catalog/_setup.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

let directory: string;
let catalog: Catalog;
let workspace: Workspace;
/** The code that was published, and why none can be. */
let published: [string, Record<string, unknown>][];
let whyNoCode: string | undefined;
/** Error of a fault of publishing. */
let fault: Error | undefined;

beforeEach(async () => {
  directory = temporaryDirectory();
  catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  workspace = await catalog.workspaces.create("Main");
  published = [];
  whyNoCode = undefined;
  fault = undefined;
});
afterEach(async () => {
  await catalog.close();
  removeDirectory(directory);
});

/** Shows the demo, as each start does, with publishing that only remembers; returns the lines. */
async function start(logEnds = async () => ({})): Promise<string[]> {
  const lines: string[] = [];
  const publishing = {
    async create(_: string, kind: string, input: Record<string, unknown>) {
      if (whyNoCode !== undefined) throw new ApiError("unavailable", whyNoCode);
      if (fault !== undefined) throw fault;
      published.push([kind, input]);
      await store(catalog, workspace.id, kind as CodeKind, { name: String(input.name) });
    },
  };
  await showDemo({ catalog, publishing: publishing as never, logEnds }, workspace, {
    print: (line) => void lines.push(line),
    ...{ dataPlaneUrl: "http://0.0.0.0:1", controlPlaneUrl: "http://0.0.0.0:2" },
    ...{ filesDirectory: "/files", whyNoCode: () => whyNoCode },
  });
  return lines;
}

const names = () => published.map(([, { name }]) => name);
const counts = () => [
  catalog.sources.list(workspace.id, 1).total,
  catalog.destinations.list(workspace.id, 1).total,
  catalog.connections.list(workspace.id, 1).total,
];

test("the first start makes a source, a file and code, and later ones show the same", async () => {
  const lines = await start();
  const [source] = catalog.sources.list(workspace.id, 1).items;
  expect(lines[0]).toContain(`/pixel/v1/page?writeKey=${source!.writeKey}&`);
  expect(lines[1]).toBe(`demo: then look into /files/${workspace.id}/demo.jsonl`);
  expect(lines).toHaveLength(4);
  expect([counts(), names()]).toEqual([
    [1, 1, 1],
    ["Demo text", "Demo"],
  ]);
  const [destination] = catalog.destinations.list(workspace.id, 1).items;
  expect(destination).toMatchObject({ type: "file", config: { path: "demo.jsonl" } });
  const live = { language: "javascript", publish: true };
  expect(published).toMatchObject([
    ["library", live],
    ["transformation", { ...live, destinationIds: [destination!.id] }],
  ]);
  expect(await start()).toEqual(lines);
  expect(counts()).toEqual([1, 1, 1]);
});

test("a workspace with other sources gets no demo", async () => {
  await catalog.sources.create(workspace.id, { name: "Site" });
  expect((await start())[0]).toBe("demo: skipped, this data directory has sources of its own");
  expect([counts(), published]).toEqual([[1, 0, 0], []]);
});

test("a demo whose destination was deleted is shown, and not made again", async () => {
  const lines = await start();
  const [destination] = catalog.destinations.list(workspace.id, 1).items;
  await catalog.destinations.remove(workspace.id, destination!.id);
  published = [];
  expect(await start()).toEqual(lines);
  expect([counts()[1], published]).toEqual([0, []]);
});

test("code of a demo that a user has deleted is not made again", async () => {
  const lines = await start();
  for (const kind of ["transformation", "library"] as const) {
    const [code] = [...catalog.code.listDrafts(workspace.id, kind)];
    await catalog.code.remove(workspace.id, kind, code!.resource.id);
  }
  published = [];
  expect(await start()).toEqual(lines);
  expect(published).toEqual([]);
});

test("a start after one that was interrupted finishes its demo", async () => {
  const cut = start(() => Promise.reject(new Error("killed")));
  await expect(cut).rejects.toThrow("killed");
  expect(counts()).toEqual([0, 1, 0]);
  await start();
  expect(counts()).toEqual([1, 1, 1]);
});

test("where user code cannot run the demo has none, and gets it at the first start where it can", async () => {
  whyNoCode = "No sandbox";
  const [first] = await start();
  expect(first).toStartWith("demo: No sandbox. Events arrive unchanged.");
  expect([counts(), published]).toEqual([[1, 1, 1], []]);
  whyNoCode = undefined;
  expect((await start())[0]).toStartWith("demo: open ");
  expect([counts(), names()]).toEqual([
    [1, 1, 1],
    ["Demo text", "Demo"],
  ]);
});

test("a fault of publishing ends the start", async () => {
  fault = new ApiError("invalid", "bad code");
  await expect(start()).rejects.toThrow("bad code");
});
