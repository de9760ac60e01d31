import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { OVERVIEW_ITEMS_MAX } from "../../../src/settings/limits.ts";
import { eventually, PATIENCE_MS } from "../../sandbox/support.ts";
import { makeThings } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

let api: TestApi;
const suspensions: {
  transformationVersionId: string;
  name: string;
  until: number;
  reason: string;
}[] = [];
beforeAll(async () => {
  api = await startApi({ suspensions: () => suspensions });
});
afterAll(() => api.stop());

const overview = () => api.client.call("GET /v2/overview");

describe("the overview", () => {
  test("shows sources, code, destinations, rates and problems", async () => {
    const things = await makeThings(api);
    await eventually(
      () =>
        api.catalog.code.linkedTransformation(
          api.catalog.destinations.get(api.workspaceId, things.destination),
        ) !== undefined,
    );
    const shown = await overview();
    const [destination] = shown.destinations;
    expect(destination).toMatchObject({
      id: things.destination,
      state: "failing",
      reason: "HTTP 400 from receiver",
      since: expect.any(String),
      transformationId: things.transformation,
      deadLetters: 1,
    });
    expect(destination!.rates.failed).toBeGreaterThan(0);
    expect(shown.transformations.map(({ id }) => id)).toEqual([things.transformation]);
    expect(shown.connections[0]).toMatchObject({ id: things.connection, enabled: true });
    expect(shown.connections[0]!.rates.received).toBeGreaterThan(0);
    const fed = shown.sources.find(({ id }) => id === shown.connections[0]!.sourceId)!;
    expect(fed.receivedPerSecond).toBeGreaterThan(0);
    expect(shown.totals).toMatchObject({
      sources: 3,
      destinations: 1,
      connections: 1,
      deadLetters: 1,
      problems: 1,
    });
    expect(shown.totals.rates.failed).toBeGreaterThan(0);
    expect(shown.problems).toEqual([
      {
        kind: "destination-failing",
        message: `${destination!.name}: HTTP 400 from receiver`,
        destinationId: things.destination,
        since: destination!.since!,
        count: 1,
      },
    ]);
    const { minutes } = await api.client.call("GET /v2/destinations/{id}/history", {
      params: { id: things.destination },
    });
    expect(minutes).toHaveLength(60);
    expect(minutes.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
    expect(JSON.stringify(shown)).not.toContain("webhookUrl");
    expect(JSON.stringify(shown)).not.toContain("writeKey");
  });

  test("forgets failures from before a change of settings", async () => {
    const { id } = (await overview()).destinations[0]!;
    const config = { webhookUrl: "https://receiver.test/" };
    await api.client.call("PUT /v2/destinations/{id}", { params: { id }, body: { config } });
    while ((await overview()).destinations[0]!.state !== "ok") await Bun.sleep(10);
  });

  test("shows suspended code, a paused destination and a server that is not ready", async () => {
    const { id } = (await overview()).transformations[0]!;
    const { revision } = api.catalog.code.publishedRevision(api.workspaceId, "transformation", id);
    const { versionId, name } = revision;
    suspensions.push({
      transformationVersionId: versionId,
      name,
      until: Date.now(),
      reason: "bad",
    });
    api.readiness.checks.log = { ok: false, message: "The disk is full" };
    const { problems, destinations } = await overview();
    expect(destinations[0]!.state).toBe("suspended");
    // The dead letters are what the suspended code has left: one row, with their number.
    expect(problems.map(({ kind }) => kind)).toEqual(["not-ready", "suspended"]);
    expect(problems[1]).toMatchObject({ count: 1 });
    expect(problems[0]!.message).toBe("log: The disk is full");
    api.readiness.checks.log = { ok: true };
    suspensions.pop();
    const params = { id: destinations[0]!.id };
    await api.client.call("PUT /v2/destinations/{id}", { params, body: { enabled: false } });
    expect((await overview()).destinations[0]!.state).toBe("paused");
  });

  test("shows one workspace only, and a bounded number of items", async () => {
    const { id } = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith(["events:read"], id);
    const { body } = await api.send("GET", "/v2/overview", { token });
    expect(body).toEqual({
      sources: [],
      transformations: [],
      destinations: [],
      connections: [],
      totals: {
        sources: 0,
        destinations: 0,
        connections: 0,
        deadLetters: 0,
        problems: 0,
        rates: { received: 0, delivered: 0, dropped: 0, failed: 0 },
        lagEvents: 0,
        lagSeconds: 0,
      },
      problems: [],
    });
    const count = OVERVIEW_ITEMS_MAX + 1;
    for (let n = 0; n < count; n += 1) await api.catalog.sources.create(id, { name: `S${n}` });
    const many = (await api.send("GET", "/v2/overview", { token })).body;
    expect([many.sources.length, many.totals.sources]).toEqual([OVERVIEW_ITEMS_MAX, count]);
  });
});

test("the system's figures are measured, and tell nothing of another workspace", async () => {
  const suspension = { transformationVersionId: "v", name: "T", until: 0, reason: "R" };
  let suspended = "";
  const api = await startApi({ suspensions: (id) => (id === suspended ? [suspension] : []) });
  const system = await api.client.call("GET /v2/system");
  expect(system.bun).toBe(Bun.version);
  expect(system.processes[0]).toMatchObject({ name: "server" });
  expect(system.processes[0]!.residentBytes).toBeGreaterThan(10 << 20);
  expect(system.memory.totalBytes).toBeGreaterThan(system.memory.freeBytes);
  expect(system.limits.OVERVIEW_ITEMS_MAX).toBe(OVERVIEW_ITEMS_MAX);
  expect(system.readiness.ready).toBe(true);
  expect(system.events.retention).toEqual({ seconds: 0, bytes: 0 });
  expect(system.events.bytes).toBeGreaterThanOrEqual(0);
  expect(system.guests).toEqual({ alive: expect.any(Number), awaited: 0, suspended: 0 });

  const other = await api.catalog.workspaces.create("Other");
  suspended = other.id;
  const shared = await api.client.call("GET /v2/system");
  expect(shared.guests).toEqual({ suspended: 0 });
  expect(shared.disk.used).toEqual({});
  expect(shared.events).toEqual({ retention: system.events.retention });
  suspended = api.workspaceId;
  expect((await api.client.call("GET /v2/system")).guests.suspended).toBe(1);
  await api.stop();
});
