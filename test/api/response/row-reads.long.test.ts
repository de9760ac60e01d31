import { afterAll, beforeAll, expect, mock, setDefaultTimeout, spyOn, test } from "bun:test";
import { Unpackr } from "msgpackr";
import { routes } from "../../../src/api/route-table.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

/** Items of each kind, at first and in the end: at least two pages. */
const FEW = 200;
const MANY = 300;
const WORKSPACES = 100;
/** Routes that search events or have another listener's state, and those of documents. */
const UNCOUNTED = /search|oidc|docs|metrics/;

let api: TestApi;
const ids: Record<string, string> = {};
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

/** Adds sources, linked destinations, connections, code and people. */
async function addItems(first: number, end: number): Promise<void> {
  const { catalog, workspaceId } = api;
  const { sources, destinations, connections, code, members, tokens, credentials } = catalog;
  const add = async (n: number) => {
    const name = `Item ${n}`;
    const source = await sources.create(workspaceId, { name });
    const config = { path: `${n}.jsonl` };
    const destination = await destinations.create(workspaceId, { name, type: "file", config });
    const ends = { sourceId: source.id, destinationId: destination.id };
    const connection = await connections.create(workspaceId, ends, {});
    const text = { name, description: "", language: "javascript" as const };
    const transformation = code.draft(workspaceId, "transformation", {
      ...text,
      code: "export function transformEvent(event) { return event; }",
    });
    const library = code.draft(workspaceId, "library", {
      ...{ ...text, importName: `kit${n}` },
      code: `export const n = ${n};`,
    });
    await code.commit(workspaceId, {
      revisions: [transformation, library],
      publish: [transformation, library].map((it) => ({ ...it, imports: [] })),
      links: [{ transformationId: transformation.id, destinationId: destination.id }],
      usedLibraries: [],
    });
    const member = await members.create(workspaceId, { name, email: `${n}@example.com` });
    await tokens.create(workspaceId, { name, permissions: [] });
    await credentials.put(workspaceId, `item_${n}`, "secret");
    Object.assign(ids, { source: source.id, destination: destination.id, member: member.id });
    Object.assign(ids, { connection: connection.id, library: library.id });
    ids.transformation = transformation.id;
    ids.transformationversionId = transformation.versionId;
    ids.libraryversionId = library.versionId;
  };
  await Promise.all(Array.from({ length: end - first }, (_, n) => add(first + n)));
}

/** Rows that a request reads. Other work may read too, so the fewest of some calls count. */
async function rowsRead(path: string): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let call = 0; call < 3; call += 1) {
    const decode = spyOn(Unpackr.prototype as unknown as { decode(): unknown }, "decode");
    await api.send("GET", path, { unchecked: true });
    fewest = Math.min(fewest, decode.mock.calls.length);
    mock.restore();
  }
  return fewest;
}

/** The GET requests of every route: alone, and with each parameter that selects or sorts. */
function requests(): { name: string; path: string }[] {
  const values: Record<string, string> = {
    ...{ page: "2", text: "item", hasExternalId: "false", state: "ok", kind: "destination" },
    ...{ sourceId: ids.source!, destinationId: ids.destination! },
  };
  return routes
    .filter(({ method, media }) => method === "GET" && media === undefined)
    .filter(({ path }) => !UNCOUNTED.test(path))
    .flatMap(({ path, query }) => {
      const at = path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[idOf(path, name)] ?? "none");
      const chosen = Object.entries(query.properties as Record<string, any>)
        .map(([name, { anyOf }]) => [name, name === "sort" ? anyOf.at(-1).const : values[name]])
        .filter(([, value]) => value !== undefined);
      const variants = chosen.map(([name, value]) => `?${name}=${value}`);
      return ["", ...variants].map((it) => ({
        name: path + it.replace(/Id=.*/, "Id"),
        path: at + it,
      }));
    });
}

function idOf(path: string, name: string): string {
  const kinds = ["transformation", "source", "destination", "connection", "member", "librar"];
  const kind = kinds.find((it) => path.includes(it))?.replace("librar", "library") ?? "none";
  return name === "id" ? kind : kind + name;
}

/** The same number for a path, and for the path with each of these queries. */
function variants(path: string, rows: number, queries: string[]): Record<string, number> {
  return Object.fromEntries(["", ...queries.map((it) => `?${it}`)].map((it) => [path + it, rows]));
}

/** Rows that each request reads more after `grow`, for each of `count` items, where it does. */
async function growth(count: number, grow: () => Promise<void>): Promise<Record<string, number>> {
  const asked = requests();
  const before: number[] = [];
  for (const { path } of asked) before.push(await rowsRead(path));
  await grow();
  const found: Record<string, number> = {};
  for (const [n, { name, path }] of asked.entries()) {
    const more = Math.round(((await rowsRead(path)) - before[n]!) / count);
    if (more > 0) found[name] = more;
  }
  return found;
}

test("a request reads no more rows of an item than its answer needs, and those of a page alone", async () => {
  await addItems(0, FEW);
  expect(await growth(MANY - FEW, () => addItems(FEW, MANY))).toEqual({
    // All items are answered: these lists have no pages.
    ...{ "/transformations": 9, "/transformations?hasExternalId": 9 },
    ...{ "/libraries": 7, "/libraries?hasExternalId": 7 },
    // All items are read, because any may be on the page: it is searched, or sorted by a field.
    ...{ "/v2/sources?text=item": 1, "/v2/destinations?text=item": 1 },
    ...variants("/v2/status/names", 1, ["kind=destination", "page=2", "text=item"]),
    ...variants("/v2/code", 2, ["page=2", "text=item", "sort=-updatedAt"]),
    // These are sorted by state, too, which needs an item's connection, link and code.
    ...variants("/v2/status/sources", 3, ["page=2", "text=item", "sort=-received"]),
    ...variants("/v2/status/destinations", 4, ["page=2", "text=item", "sort=-deadLetters"]),
    "/v2/status/destinations?state=ok": 4,
    ...variants("/v2/status/connections", 6, ["page=2", "text=item"]),
    "/v2/overview": 6,
  });
});

test("a request reads no rows of other workspaces", async () => {
  const add = async () => {
    const { workspaces } = api.catalog;
    await Promise.all(Array.from({ length: WORKSPACES }, (_, n) => workspaces.create(`W${n}`)));
  };
  expect(await growth(WORKSPACES, add)).toEqual({});
});
