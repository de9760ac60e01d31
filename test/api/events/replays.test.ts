import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { REPLAY_RATE_MAX, REPLAYS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { until } from "../../until.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
const taken: any[] = [];
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    taken.push(await request.json());
    return new Response(null);
  },
});
beforeAll(async () => {
  api = await startApi();
});
afterAll(async () => {
  await api.stop();
  await receiver.stop(true);
});

async function newSource(): Promise<string> {
  return (await api.client.call("POST /v2/sources", { body: { name: "S" } })).source.id;
}
async function newDestination(): Promise<string> {
  const body = { name: "D", type: "webhook", config: { webhookUrl: receiver.url.href } };
  return (await api.client.call("POST /v2/destinations", { body })).destination.id;
}
const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();
const start = (body: object) => api.send("POST", "/v2/replays", { body });
const get = async (id: string) => (await api.send("GET", `/v2/replays/${id}`)).body.replay;

describe("/v2/replays", () => {
  test("send events from before a destination existed, and report their progress", async () => {
    const sourceId = await newSource();
    for (let n = 0; n < 20; n++) await api.page(sourceId, `anonymousId=a&properties.n=${n}`);
    const destinationId = await newDestination();
    const from = hourAgo();
    const { status, body } = await start({ sourceId, destinationId, from, rate: 50 });
    expect(status).toBe(201);
    expect(body.replay).toMatchObject({
      ...{ kind: "events", state: "running", sourceId, destinationId, from, rate: 50 },
      counts: { done: 0 },
    });
    const { id } = body.replay;
    await until(async () => (await get(id)).state === "done");
    expect(taken.map(({ properties }) => properties.n)).toEqual([...Array(20).keys()]);
    expect(await get(id)).toMatchObject({
      ...{ progress: 1, counts: { done: 20, delivered: 20 }, endedAt: expect.any(String) },
      reachedAt: expect.any(String),
    });
    expect((await get(id)).left).toBeUndefined();
    const list = (await api.send("GET", "/v2/replays")).body;
    expect(list.replays.map((it: { id: string }) => it.id)).toContain(id);
    expect(list.paging.total).toBe(list.replays.length);
  });

  test("send track events of a name, and no pages of it", async () => {
    const sourceId = await newSource();
    const query = "anonymousId=a&name=Prices&event=Prices";
    await api.page(sourceId, query);
    const messageId = crypto.getRandomValues(new Uint8Array(16));
    const at = { receivedAt: Date.now(), sourceId, clientAddress: "", messageId };
    await api.append({ type: "track", ...at, query });
    const destinationId = await newDestination();
    taken.length = 0;
    const body = { sourceId, destinationId, from: hourAgo(), filter: { event: "Prices" } };
    const { id } = (await start(body)).body.replay;
    await until(async () => (await get(id)).state === "done");
    expect(taken.map(({ type }) => type)).toEqual(["track"]);
  });

  test.each([
    { connected: true, kind: "events" },
    { connected: false, kind: "events" },
    { connected: true, kind: "dead-letters" },
  ])("say what they wait for while their destination accepts nothing (%j)", async (at) => {
    let status = at.kind === "events" ? 503 : 422;
    const { call } = api.client;
    const failing = Bun.serve({ port: 0, fetch: () => new Response(null, { status }) });
    onTestFinished(() => failing.stop(true));
    const sourceId = await newSource();
    const config = { webhookUrl: `http://127.0.0.1:${failing.port}/` };
    const body = { name: "D", type: "webhook", config };
    const destinationId = (await call("POST /v2/destinations", { body })).destination.id;
    if (at.connected) await call("POST /v2/connections", { body: { sourceId, destinationId } });
    for (let n = 0; n < 5; n++) await api.page(sourceId, `anonymousId=a&properties.n=${n}`);
    // One that has ended waits for nothing.
    const ended = (await start({ sourceId, destinationId, from: hourAgo() })).body.replay.id;
    await api.send("POST", `/v2/replays/${ended}/cancel`);
    let id: string;
    if (at.kind === "events") {
      id = (await start({ sourceId, destinationId, from: hourAgo() })).body.replay.id;
    } else {
      const groups = () => call("GET /v2/dead-letter-groups", { query: { destinationId } });
      // The replay that was cancelled may have sent some of the events, too.
      await until(async () => (await groups()).letters >= 5);
      status = 503;
      const send = { filter: { destinationId }, all: true };
      id = (await call("POST /v2/dead-letters/replay", { body: send })).replay!.id;
    }
    await until(async () => (await get(id)).waitsFor?.includes("503"));
    const { replays } = (await api.send("GET", "/v2/replays")).body;
    const waiting = replays.filter((it: { waitsFor?: string }) => it.waitsFor?.includes("503"));
    expect(waiting.map((it: { id: string }) => it.id)).toEqual([id]);
    status = 200;
    await until(async () => (await get(id)).waitsFor === undefined);
    // The next tests start as many replays as a workspace may have.
    await until(async () => (await get(id)).state === "done");
  });

  test("are cancelled", async () => {
    const sourceId = await newSource();
    for (let n = 0; n < 20; n++) await api.page(sourceId, `anonymousId=a&properties.n=${n}`);
    const destinationId = await newDestination();
    const { replay } = (await start({ sourceId, destinationId, from: hourAgo(), rate: 1 })).body;
    const cancel = async () => (await api.send("POST", `/v2/replays/${replay.id}/cancel`)).body;
    expect((await cancel()).replay.state).toBe("cancelled");
    expect((await cancel()).replay.state).toBe("cancelled");
    expect((await get(replay.id)).counts.delivered).toBeLessThan(20);
  });

  test("run at most a few for a workspace, and one for a destination", async () => {
    const sourceId = await newSource();
    await api.page(sourceId, "anonymousId=a");
    for (let n = 0; n < 5; n++) await api.page(sourceId, `anonymousId=a&properties.n=${n}`);
    const running: string[] = [];
    for (let n = 0; n < REPLAYS_OF_WORKSPACE_MAX; n++) {
      const destinationId = await newDestination();
      const body = { sourceId, destinationId, from: hourAgo(), rate: 1 };
      running.push((await start(body)).body.replay.id);
      if (n === 0) {
        const again = await start(body);
        expect(again.status).toBe(409);
        expect(again.body.message).toBe("A replay to this destination is running already");
      }
    }
    const more = { sourceId, destinationId: await newDestination(), from: hourAgo() };
    const refused = await start(more);
    expect(refused.status).toBe(429);
    for (const id of running) await api.send("POST", `/v2/replays/${id}/cancel`);
    expect((await start(more)).status).toBe(201);
  });

  test.each([
    [
      { from: "yesterday" },
      400,
      "Expected a time in ISO 8601 such as 2026-02-16T01:11:11Z at /from",
    ],
    [{ from: "2100-01-01T00:00:00Z" }, 400, "Expected `from` to be before `to`, and in the past"],
    [{ rate: 0 }, 400, "at /rate"],
    [{ rate: REPLAY_RATE_MAX + 1 }, 400, "at /rate"],
    [{ filter: { event: "" } }, 400, "at /filter/event"],
    [{ filter: { evnt: "Refund" } }, 400, 'Unknown key "evnt" at /filter, did you mean event?'],
    [
      { filter: { messageId: "m" } },
      400,
      'Unknown key "messageId" at /filter, did you mean messageIds?',
    ],
    [{ sourceid: "a" }, 400, 'Unknown key "sourceid", did you mean sourceId?'],
    [{ filter: { type: "x".repeat(5_000) } }, 400, "at /filter/type"],
    [{ sourceId: "unknown" }, 404, "Source not found"],
    [{ destinationId: "unknown" }, 404, "Destination not found"],
    [{ sourceId: undefined }, 400, "Expected a `sourceId`, or a destination that is connected"],
  ])("refuse %j", async (over, status, message) => {
    const asked = { sourceId: await newSource(), destinationId: await newDestination() };
    const refused = await start({ ...asked, from: hourAgo(), ...over });
    expect(refused.status).toBe(status);
    expect(refused.body.message).toContain(message);
  });

  test("refuse a destination that is disabled", async () => {
    const destinationId = await newDestination();
    await api.send("PUT", `/v2/destinations/${destinationId}`, { body: { enabled: false } });
    const refused = await start({ sourceId: await newSource(), destinationId, from: hourAgo() });
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain("Expected a destination that is enabled");
  });

  test("of other workspaces are 404", async () => {
    const sourceId = await newSource();
    await api.page(sourceId, "anonymousId=a");
    const destinationId = await newDestination();
    const { id } = (await start({ sourceId, destinationId, from: hourAgo() })).body.replay;
    const other = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith(["events:read", "events:replay"], other.id);
    expect((await api.send("GET", `/v2/replays/${id}`, { token })).status).toBe(404);
    expect((await api.send("POST", `/v2/replays/${id}/cancel`, { token })).status).toBe(404);
    expect((await api.send("GET", "/v2/replays", { token })).body.replays).toEqual([]);
    const asked = { destinationId, from: hourAgo() };
    expect((await api.send("POST", "/v2/replays", { token, body: asked })).status).toBe(404);
  });
});
