import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { OVERVIEW_ITEMS_MAX, STATUS_PAGE_MAX } from "../../../src/settings/limits.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import type { TestApi } from "../_setup.ts";
import { DESTINATIONS, DOWN, FAILING, startManyDestinations } from "./_many-destinations.ts";

setDefaultTimeout(PATIENCE_MS);

/** Bytes of an overview's answer, however many destinations a workspace has. */
const OVERVIEW_BYTES_MAX = 50_000;

let api: TestApi;
let ids: string[];
let token: string;
beforeAll(async () => {
  ({ api, ids } = await startManyDestinations());
  token = await api.tokenWith(["events:read"]);
});
afterAll(() => api.stop());

const get = async (path: string, as = token) => (await api.send("GET", path, { token: as })).body;

describe("a workspace of 500 destinations", () => {
  test("has the destination that is down first in the overview, before those that fail", async () => {
    const { text, body } = await api.send("GET", "/v2/overview", { token });
    expect(body.problems[0]).toMatchObject({ kind: "destination-down", destinationId: ids[DOWN] });
    expect(body.problems[1]).toMatchObject({ kind: "destination-failing" });
    expect(body.destinations[0].id).toBe(ids[DOWN]);
    expect(body.totals).toMatchObject({
      destinations: DESTINATIONS,
      problems: FAILING + 1,
      lagEvents: 3 * DESTINATIONS,
    });
    expect(body.problems).toHaveLength(OVERVIEW_ITEMS_MAX);
    expect(text.length).toBeLessThan(OVERVIEW_BYTES_MAX);
  });

  test("lists every destination with state and last error, most urgent first, in pages", async () => {
    const first = await get("/v2/status/destinations?count=100");
    expect(first.total).toBe(DESTINATIONS);
    expect(first.states).toEqual({ down: 1, failing: FAILING, ok: DESTINATIONS - FAILING - 1 });
    expect(first.destinations[0]).toMatchObject({
      id: ids[DOWN],
      state: "down",
      lastError: { reason: "No route", at: expect.any(String), stage: "deliver" },
    });
    const seen = new Set<string>();
    for (let page = 1; page <= 5; page += 1) {
      const { destinations } = await get(`/v2/status/destinations?count=100&page=${page}`);
      for (const { id } of destinations) seen.add(id);
    }
    expect(seen.size).toBe(DESTINATIONS);
  });

  test("finds a destination by a part of its name, by its id and by its state", async () => {
    const byName = await get("/v2/status/destinations?text=billing%20WEBHOOK%20499");
    expect(byName.destinations.map(({ id }: { id: string }) => id)).toEqual([ids[499]]);
    const byId = await get(`/v2/status/destinations?text=${ids[7]}`);
    expect(byId.destinations.map(({ id }: { id: string }) => id)).toEqual([ids[7]]);
    const failing = await get("/v2/status/destinations?state=failing&count=100");
    expect([failing.total, failing.destinations.length]).toEqual([FAILING, FAILING]);
  });

  test("sorts destinations by a column in both directions, and refuses an unknown one", async () => {
    const names = async (sort: string) => {
      const { destinations } = await get(`/v2/status/destinations?sort=${sort}&count=3`);
      return destinations.map(({ name }: { name: string }) => name);
    };
    expect(await names("name")).toEqual([0, 1, 2].map((n) => `Billing webhook ${n}`));
    expect(await names("-name")).toEqual([499, 498, 497].map((n) => `Billing webhook ${n}`));
    // Equal values keep the order of urgency.
    expect((await names("type"))[0]).toBe(`Billing webhook ${DOWN}`);
    const refused = await api.send("GET", "/v2/status/destinations?sort=secret", { token });
    expect(refused.status).toBe(400);
  });

  test("lists connections, those of failing destinations first", async () => {
    const { connections, total } = await get("/v2/status/connections");
    expect(total).toBe(DESTINATIONS);
    expect(connections[0]).toMatchObject({
      sourceName: "Website",
      destinationName: `Billing webhook ${DOWN}`,
      destinationState: "down",
    });
  });
});

describe("names of sources, destinations and transformations", () => {
  const path = "/v2/status/names?kind=destination";

  test("are found by a part, in pages by name, and by ids", async () => {
    const page = await get(`${path}&text=webhook%2049&page=2&count=4`);
    expect(page.total).toBe(11);
    expect(page.names.map(({ name }: { name: string }) => name)).toEqual(
      [493, 494, 495, 496].map((n) => `Billing webhook ${n}`),
    );
    const byIds = await get(`${path}&ids=${ids[7]},unknown,${ids[DOWN]}`);
    expect(byIds.names).toEqual([
      { id: ids[7], name: "Billing webhook 7" },
      { id: ids[DOWN], name: `Billing webhook ${DOWN}` },
    ]);
    const { names } = await get(`${path}&ids=${[ids[9], ids[7], ids[9]].join(",")}`);
    expect(names.map(({ id }: { id: string }) => id)).toEqual([ids[7], ids[9]]);
  });

  test("are refused for more ids than a page has", async () => {
    const most = ids.slice(0, STATUS_PAGE_MAX);
    expect((await get(`${path}&ids=${most.join(",")}`)).total).toBe(STATUS_PAGE_MAX);
    const { status, body } = await api.send("GET", `${path}&ids=${[...most, "x"].join(",")}`);
    expect([status, body.message]).toEqual([400, "Expected at most 100 ids, got 101"]);
  });

  test("of transformations are those of published ones and of drafts", async () => {
    const create = async (path: string, name: string, publish: boolean) => {
      const body = { name, code: "export function transformEvent(e) {}", language: "javascript" };
      return (await api.send("POST", `${path}?publish=${publish}`, { body })).body.id as string;
    };
    const live = await create("/transformations", "Zones of visitors", true);
    await create(`/transformations/${live}`, "Unpublished name of visitors", false);
    const draft = await create("/transformations", "Areas of visitors", false);
    const library = await create("/libraries", "Library of visitors", true);
    const gone = await create("/transformations", "Streets of visitors", true);
    await api.send("DELETE", `/transformations/${gone}`);
    const kind = "/v2/status/names?kind=transformation";
    const [first, second] = [
      { id: draft, name: "Areas of visitors" },
      { id: live, name: "Zones of visitors" },
    ];
    expect(await get(`${kind}&text=of%20visitors`)).toEqual({ names: [first, second], total: 2 });
    const byIds = await get(`${kind}&ids=${[live, library, gone, "unknown", draft].join(",")}`);
    expect(byIds.names).toEqual([first, second]);
    const other = await api.catalog.workspaces.create("Without code");
    const foreign = await api.tokenWith(["events:read"], other.id);
    expect(await get(`${kind}&ids=${live}`, foreign)).toEqual({ names: [], total: 0 });
  });

  test("need one of the permissions that show sources and destinations", async () => {
    expect((await get(path, await api.tokenWith(["workspace:admin"]))).total).toBe(DESTINATIONS);
    const other = await api.tokenWith(["transformations:edit"]);
    expect((await api.send("GET", path, { token: other })).status).toBe(403);
  });
});

describe("lists of a workspace's settings", () => {
  const admin = async (path: string) => (await api.send("GET", path)).body;

  test("find destinations and sources by a part of the name, and repeat it for the next page", async () => {
    const found = await admin("/v2/destinations?text=webhook%203");
    // 3, 30 to 39 and 300 to 399.
    expect([found.destinations.length, found.paging.total]).toEqual([100, 111]);
    const rest = await admin(`/v2${found.paging.next}`);
    expect(rest.destinations.length).toBe(11);
    expect((await admin("/v2/sources?text=nothing")).paging).toEqual({ total: 0 });
    const marked = await admin("/v2/destinations?text=webhook%203&hasExternalId=true");
    expect(marked.paging).toEqual({ total: 0 });
  });

  test("have the connections of one source or one destination alone", async () => {
    const one = await admin(`/v2/connections?destinationId=${ids[DOWN]}`);
    expect(one.connections).toMatchObject([{ destinationId: ids[DOWN] }]);
    const { sourceId } = one.connections[0];
    const second = await admin(`/v2/connections?sourceId=${sourceId}&page=5`);
    expect([second.connections.length, second.paging]).toEqual([100, { total: DESTINATIONS }]);
    const both = await admin(`/v2/connections?sourceId=unknown&destinationId=${ids[DOWN]}`);
    expect(both.paging).toEqual({ total: 0 });
  });
});

describe("a token with events:read alone", () => {
  test("reads names and the state of one destination, and no config and no write key", async () => {
    const one = await api.send("GET", `/v2/status/destinations/${ids[DOWN]}`, { token });
    expect(one.body).toMatchObject({
      destination: { name: `Billing webhook ${DOWN}`, state: "down" },
      sources: [{ name: "Website" }],
    });
    const names = await get("/v2/status/names?kind=source");
    expect(names).toMatchObject({ names: [{ name: "Website" }], total: 1 });
    for (const path of ["destinations", `destinations/${ids[0]}`, "sources", "connections"]) {
      const { text } = await api.send("GET", `/v2/status/${path}`, { token });
      expect(text).not.toContain("webhookUrl");
      expect(text).not.toContain("writeKey");
    }
    const unknown = await api.send("GET", "/v2/status/destinations/unknown", { token });
    expect(unknown.status).toBe(404);
  });

  test("sees nothing of another workspace", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const foreign = await api.tokenWith(["events:read"], other.id);
    const nothing = { names: [], total: 0 };
    expect(await get("/v2/status/names", foreign)).toEqual(nothing);
    const byIds = `/v2/status/names?kind=destination&ids=${ids[0]}`;
    expect(await get(byIds, foreign)).toEqual(nothing);
    expect((await get("/v2/status/destinations", foreign)).total).toBe(0);
    const answer = await api.send("GET", `/v2/status/destinations/${ids[0]}`, { token: foreign });
    expect(answer.status).toBe(404);
  });
});
