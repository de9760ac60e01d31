import {
  afterAll,
  afterEach,
  beforeAll,
  expect,
  mock,
  setDefaultTimeout,
  spyOn,
  test,
} from "bun:test";
import { routes } from "../../../src/api/route-table.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

/** Items of each kind. Reading one takes long, so that a slice of time has few of them. */
const ITEMS = 200;
const ITEM_MS = 0.1;
/** A slice reads the clock after 64 items. */
const SLICE_ITEMS_MAX = 64;

let api: TestApi;
beforeAll(async () => {
  // A busy machine takes longer than a client may wait.
  api = await startApi({ answerMsMax: PATIENCE_MS });
});
afterEach(() => mock.restore());
afterAll(() => api.stop());

/** Makes each list of the catalog yield one item many times, and counts those read at one go. */
function watchReads() {
  const reads = { total: 0, longest: 0 };
  let current = 0;
  const watch = <T>(items: Iterable<T>) =>
    function* read() {
      const [item] = items;
      for (let n = 0; n < ITEMS; n += 1) {
        for (const until = performance.now() + ITEM_MS; performance.now() < until; );
        // A machine that was late runs a timer before what waited for the end of this turn.
        if (current === 0) for (const next of [setImmediate, setTimeout]) next(() => (current = 0));
        current += 1;
        reads.total += 1;
        reads.longest = Math.max(reads.longest, current);
        yield item!;
      }
    };
  const { catalog, workspaceId } = api;
  for (const items of [catalog.sources, catalog.destinations, catalog.connections] as const) {
    spyOn(items as typeof catalog.sources, "each").mockImplementation(
      watch([...(items as typeof catalog.sources).each(workspaceId)]),
    );
  }
  const [connection] = catalog.connections.list(workspaceId, 1).items;
  // Each further source of a list has one connection.
  spyOn(catalog.connections, "eachOf")
    .mockImplementation(() => [connection!])
    .mockImplementationOnce(watch([connection!]));
  const published = [...catalog.code.listPublished(workspaceId, "transformation")];
  spyOn(catalog.code, "listPublished").mockImplementation(watch(published));
  spyOn(catalog.code, "listDrafts").mockImplementation(watch(published));
  return reads;
}

test("no list route reads many items without a pause for other requests", async () => {
  const { body: source } = await api.send("POST", "/v2/sources", { body: { name: "Item" } });
  const { body: destination } = await api.send("POST", "/v2/destinations", {
    body: { name: "Item", type: "file", config: { path: "item.jsonl" } },
  });
  const ends = { sourceId: source.source.id, destinationId: destination.destination.id };
  await api.send("POST", "/v2/connections", { body: ends });
  const code = "export function transformEvent(event) { return event; }";
  const made = { name: "Item", language: "javascript", code };
  await api.send("POST", "/transformations?publish=true", { body: made });

  const values: Record<string, string> = { text: "item", ...ends };
  const paged = routes.filter(
    ({ method, query }) => method === "GET" && "page" in query.properties,
  );
  const reading: string[] = [];
  for (const { path, query } of paged) {
    // Each parameter that decides which items are read: alone, and none.
    for (const name of ["", ...Object.keys(values).filter((it) => it in query.properties)]) {
      const reads = watchReads();
      const at = name === "" ? path : `${path}?${name}=${values[name]}`;
      await api.send("GET", at, { unchecked: true });
      mock.restore();
      if (reads.total > 0) reading.push(at.replace(/=.*/, ""));
      expect([at, reads.longest <= SLICE_ITEMS_MAX]).toEqual([at, true]);
    }
  }
  expect(reading).toEqual(
    expect.arrayContaining([
      ...["/v2/sources?text", "/v2/destinations?text", "/v2/connections?sourceId"],
      ...["/v2/status/sources", "/v2/status/destinations", "/v2/status/connections"],
      ...["/v2/status/names?text", "/v2/code"],
    ]),
  );
});
