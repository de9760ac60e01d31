import { afterAll, beforeAll, expect, test } from "bun:test";
import { STATUS_SHARED_ITEMS_MIN } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** How often the nodes of the cluster were asked for all destinations. */
let questions = 0;
let api: TestApi;
let sourceId: string;
const connected: string[] = [];

beforeAll(async () => {
  const rest = { connections: {}, suspensions: [], troubles: [], warnings: [] };
  api = await startApi({
    others: {
      node: "one",
      answerWith: () => {},
      ask: async (question) => {
        const [kind, , ids] = question as [string, string, string[]?];
        if (kind === "activity" && ids?.includes(connected[0]!)) questions++;
        return { answers: new Map([["two", { lanes: {}, ...rest }]]), missing: [] };
      },
    },
  });
  const { catalog, workspaceId } = api;
  sourceId = (await catalog.sources.create(workspaceId, { name: "Website" })).id;
  const config = { webhookUrl: "https://receiver.test/" };
  await Promise.all(
    Array.from({ length: STATUS_SHARED_ITEMS_MIN }, async (_, n) => {
      const input = { name: `Hook ${n}`, type: "webhook", config };
      connected.push((await catalog.destinations.create(workspaceId, input)).id);
    }),
  );
}, 300_000);
afterAll(() => api.stop());

const get = async (path: string) => (await api.send("GET", path)).body;

test("the lists and the overview of many viewers measure a workspace once, and show each change", async () => {
  const paths = ["/v2/status/destinations", "/v2/status/sources", "/v2/overview"];
  const one = await Promise.all([...paths, ...paths].map(get));
  // Each would ask alone. On a slow machine some come when the first answer is too old.
  expect(questions).toBeLessThan(4);
  expect(one.map((it) => it.total ?? it.totals.destinations)).toEqual([
    ...[STATUS_SHARED_ITEMS_MIN, 1, STATUS_SHARED_ITEMS_MIN],
    ...[STATUS_SHARED_ITEMS_MIN, 1, STATUS_SHARED_ITEMS_MIN],
  ]);
  const found = await get("/v2/status/destinations?text=hook%20999&sort=-type");
  expect(found.destinations.map(({ name }: { name: string }) => name)).toEqual(["Hook 999"]);
  const renamed = { name: "Hook of today" };
  await api.send("PUT", `/v2/destinations/${connected[0]}`, { body: renamed });
  const after = await get("/v2/status/destinations?text=of%20today");
  expect(after.destinations).toMatchObject([{ id: connected[0], ...renamed }]);
  await api.send("PUT", `/v2/sources/${sourceId}`, { body: { name: "Shop" } });
  expect((await get("/v2/status/sources")).sources).toMatchObject([{ name: "Shop" }]);
});
