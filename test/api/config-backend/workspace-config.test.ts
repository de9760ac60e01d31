import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { startApi, type TestApi } from "../_setup.ts";

/**
 * The configuration that rudder-server reads, by the shapes that were recorded of it
 * (`backend-config/types.go`, and the template of its integration tests).
 */
let api: TestApi;
let token: string;
beforeAll(async () => {
  api = await startApi({ namespace: "main" });
  token = await api.tokenWith(["workspace-config:read"]);
});
afterAll(() => api.stop());

const basic = (secret: string) => `Basic ${Buffer.from(`${secret}:`).toString("base64")}`;

/** Asks as rudder-server does: with the token as the user name of Basic. */
async function ask(path = "/workspaceConfig?fetchAll=true", headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.url}${path}`, {
    headers: { authorization: basic(token), ...headers },
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text ? JSON.parse(text) : null };
}

async function make(kind: "sources" | "destinations" | "connections", body: object) {
  const made = await api.send("POST", `/v2/${kind}`, { body });
  expect(made.status).toBe(201);
  return made.body[kind.slice(0, -1)] as Record<string, any>;
}

const webhook = {
  type: "WEBHOOK",
  deliveredBy: "rudder-server",
  config: {
    webhookUrl: "https://hooks.test/in",
    webhookMethod: "POST",
    headers: [{ from: "X-Key", to: "hidden-header" }],
    connectionMode: { web: "cloud", cloud: "cloud" },
  },
};

async function publish(name: string): Promise<{ id: string; versionId: string }> {
  const body = {
    name,
    language: "javascript",
    code: "export function transformEvent(event) { return event; }",
  };
  return (await api.send("POST", "/transformations?publish=true", { body })).body;
}

test("rudder-server gets sources with the destinations that it delivers", async () => {
  const source = await make("sources", { name: "Site", type: "Javascript" });
  const destination = await make("destinations", { name: "Hook", ...webhook });
  const own = await make("destinations", {
    name: "Ours",
    type: "webhook",
    config: { webhookUrl: "https://hooks.test/own" },
  });
  expect([destination.deliveredBy, own.deliveredBy]).toEqual(["rudder-server", "pixelmill"]);
  const pair = { sourceId: source.id, destinationId: destination.id };
  const connection = await make("connections", pair);
  await make("connections", { ...pair, destinationId: own.id });
  const { id: transformationId, versionId } = await publish("T");
  const library = { name: "cool library", language: "javascript", code: "export const a = 1;" };
  const made = await api.send("POST", "/libraries?publish=true", { body: library });
  const linked = await api.send("PUT", `/v2/destinations/${destination.id}/transformation`, {
    body: { transformationId },
  });
  expect(linked.status).toBe(200);
  await api.send("PUT", "/v2/credentials/apiKey", { body: { value: "hidden-credential" } });

  const { status, headers, body } = await ask();
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("application/json");
  expect(body.workspaceId).toBe(api.workspaceId);
  expect(new Date(body.updatedAt).toISOString()).toBe(body.updatedAt);
  expect(body.libraries).toEqual([{ versionId: made.body.versionId }]);
  expect(body.connections).toEqual({
    [connection.id]: { ...pair, enabled: true, processorEnabled: true, config: {} },
  });
  const shown = body.sources.find(({ id }: { id: string }) => id === source.id);
  expect(shown).toMatchObject({
    name: "Site",
    writeKey: source.writeKey,
    enabled: true,
    workspaceId: api.workspaceId,
    sourceDefinition: { name: "Javascript", type: "web", category: null },
  });
  expect(shown.destinations).toHaveLength(1);
  expect(shown.destinations[0]).toMatchObject({
    id: destination.id,
    name: "Hook",
    enabled: true,
    isProcessorEnabled: true,
    workspaceId: api.workspaceId,
    // In clear, and with the value for the type of the source.
    config: { ...webhook.config, connectionMode: "cloud" },
    destinationDefinition: {
      name: "WEBHOOK",
      displayName: "Webhook",
      config: { transformAtV1: "processor" },
    },
    transformations: [{ id: transformationId, versionId, language: "javascript", config: {} }],
  });
  expect(shown.destinations[0].revisionId).toBeString();
});

test("each change is in the next answer, and only then is its tag another", async () => {
  const source = await make("sources", { name: "Changing" });
  const destination = await make("destinations", { name: "Changed", ...webhook });
  const connection = await make("connections", {
    sourceId: source.id,
    destinationId: destination.id,
  });
  const { id: transformationId } = await publish("Changing");
  const shown = async () => {
    const { body, headers } = await ask();
    const ofSource = body.sources.find(({ id }: { id: string }) => id === source.id);
    return { tag: headers.get("etag") ?? "", ofSource, ofDestination: ofSource?.destinations[0] };
  };
  let before = (await shown()).tag;
  const afterChange = async (method: string, path: string, body?: object) => {
    const { status } = await api.send(method, path, body ? { body } : {});
    expect(status).toBeLessThan(300);
    const now = await shown();
    expect(now.tag).not.toBe(before);
    before = now.tag;
    const { status: again } = await ask(undefined, { "if-none-match": now.tag });
    expect(again).toBe(304);
    return now;
  };
  const [ofSource, ofDestination] = [
    `/v2/sources/${source.id}`,
    `/v2/destinations/${destination.id}`,
  ];
  const renamed = await afterChange("PUT", ofSource, { name: "Renamed" });
  expect(renamed.ofSource.name).toBe("Renamed");
  const paused = await afterChange("PUT", ofDestination, { enabled: false });
  expect(paused.ofDestination.enabled).toBe(false);
  const linked = await afterChange("PUT", `${ofDestination}/transformation`, { transformationId });
  expect(linked.ofDestination.transformations).toHaveLength(1);
  const body = { code: "export function transformEvent(event) { return null; }" };
  const revised = await afterChange(
    "POST",
    `/transformations/${transformationId}?publish=true`,
    body,
  );
  expect(revised.ofDestination.transformations).not.toEqual(linked.ofDestination.transformations);
  const unlinked = await afterChange("DELETE", `${ofDestination}/transformation`);
  expect(unlinked.ofDestination.transformations).toEqual([]);
  const off = await afterChange("PUT", `/v2/connections/${connection.id}`, { enabled: false });
  expect(off.ofSource.destinations).toEqual([]);
  const removed = await afterChange("DELETE", ofSource);
  expect(removed.ofSource).toBeUndefined();
  // A destination that pixelmill delivers is nothing to rudder-server.
  await make("destinations", { name: "File", type: "file", config: { path: "x.jsonl" } });
  expect((await shown()).tag).toBe(before);
});

test("an unchanged configuration is compressed for clients that take it, and never an old one", async () => {
  const raw = async (path: string, encoding = "gzip") => {
    const headers = { authorization: basic(token), "accept-encoding": encoding };
    const answer = await fetch(api.url + path, { headers, decompress: false });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const isGzip = answer.headers.get("content-encoding") === "gzip";
    expect(answer.headers.get("vary")).toBe("Accept-Encoding");
    return { isGzip, text: (isGzip ? gunzipSync(bytes) : bytes).toString("utf8") };
  };
  for (const path of ["/workspaceConfig?fetchAll=true", "/data-plane/v1/namespaces/main/config"]) {
    const { id } = await make("sources", { name: `Compressed ${path.length}` });
    const first = await raw(path);
    expect([first.isGzip, first.text.includes(id)]).toEqual([false, true]);
    let last = await raw(path);
    while (!last.isGzip) {
      await Bun.sleep(5);
      last = await raw(path);
    }
    expect(last.text).toBe(first.text);
    for (const encoding of ["identity", "gzip;q=0", "br"]) {
      expect(await raw(path, encoding)).toEqual({ isGzip: false, text: first.text });
    }
    const { id: next } = await make("sources", { name: `Next ${path.length}` });
    const changed = await raw(path);
    expect([changed.isGzip, changed.text.includes(next)]).toEqual([false, true]);
  }
});

describe("who may read", () => {
  test("rudder-server may, by any name of the control plane", async () => {
    expect((await ask(undefined, { host: "pixelmill.compose:8081" })).status).toBe(200);
  });

  test("a token without the permission may not, nor a member or a session with it", async () => {
    const other = await api.tokenWith(["workspace:admin", "events:read"]);
    const asked = (secret: string) => ask(undefined, { authorization: basic(secret) });
    expect((await asked(other)).status).toBe(403);
    const member = await api.catalog.members.create(api.workspaceId, {
      ...{ name: "Ada", email: "ada@example.com", permissions: ["workspace-config:read"] },
    });
    const personal = await api.catalog.tokens.create(api.workspaceId, {
      ...{ name: "personal", permissions: [], memberId: member.id },
    });
    expect((await asked(personal.secret)).status).toBe(403);
    const session = await api.catalog.sessions.begin(token);
    const cookie = `pixelmill-session=${session?.secret}`;
    const answer = await fetch(`${api.url}/workspaceConfig`, { headers: { cookie } });
    expect(answer.status).toBe(403);
  });

  test("no other answer has a secret of a destination", async () => {
    const destination = await make("destinations", { name: "Secret", ...webhook });
    const path = `/v2/destinations/${destination.id}`;
    const change = { config: { ...webhook.config, headers: [{ from: "X-Key", to: "" }] } };
    const changed = await api.send("PUT", path, { body: change });
    expect(changed.body.destination.secretsSet).toEqual(["/headers/0/to"]);
    for (const asked of [path, "/v2/destinations", "/v2/audit", "/v2/audit/export"]) {
      const { status, text } = await api.send("GET", asked);
      expect([asked, status, text.includes("hidden-header")]).toEqual([asked, 200, false]);
    }
    expect(api.log()).not.toContain("hidden-header");
    const stored = api.catalog.destinations.get(api.workspaceId, destination.id);
    expect(stored.config).toEqual(webhook.config);
  });

  test("a stored secret is not sent to another receiver", async () => {
    const config = { host: "kafka.test", port: "9093", topic: "t", password: "hidden-password" };
    const made = { name: "K", type: "KAFKA", deliveredBy: "rudder-server", config };
    const { id } = await make("destinations", made);
    const { password: _, ...rest } = config;
    const put = (changed: object) =>
      api.send("PUT", `/v2/destinations/${id}`, { body: { config: changed } });
    const moved = await put({ ...rest, host: "other.test" });
    expect([moved.status, moved.body.details[0].path]).toEqual([400, "/config/password"]);
    const kept = await put({ ...rest, eventFilteringOption: "disable" });
    expect(kept.status).toBe(200);
    expect(api.catalog.destinations.get(api.workspaceId, id).config.password).toBe(
      "hidden-password",
    );
  });
});

describe("several workspaces", () => {
  const path = "/data-plane/v1/namespaces/main/config";

  test("are answered in the operator's namespace, and elsewhere only that of the token", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const all = await ask(path);
    expect(Object.keys(all.body)).toEqual([api.workspaceId, other.id]);
    expect(all.body[api.workspaceId].workspaceId).toBe(api.workspaceId);
    expect(all.body[other.id].sources).toEqual([]);
    const elsewhere = await ask("/data-plane/v1/namespaces/else/config");
    expect(Object.keys(elsewhere.body)).toEqual([api.workspaceId]);
    const theirs = await api.tokenWith(["workspace-config:read"], other.id);
    const own = await ask(path, { authorization: basic(theirs) });
    expect(Object.keys(own.body)).toEqual([other.id]);
    expect((await ask(path, { "if-none-match": all.headers.get("etag")! })).status).toBe(304);
  });

  test("that have not changed are null", async () => {
    const { body } = await ask(path);
    const after = (ms: number) => {
      const time = new Date(Date.parse(body[api.workspaceId].updatedAt) + ms).toISOString();
      return ask(`${path}?updatedAfter=${time}`);
    };
    expect((await after(0)).body[api.workspaceId]).not.toBeNull();
    expect((await after(60_000)).body[api.workspaceId]).toBeNull();
    const refused = await ask(`${path}?updatedAfter=yesterday`);
    expect([refused.status, refused.body.details[0].path]).toEqual([400, "?updatedAfter"]);
  });
});

describe("a destination that rudder-server delivers", () => {
  test("is of a type that has a definition, and by default one that pixelmill has not", async () => {
    const create = (body: object) =>
      api.send("POST", "/v2/destinations", { body: { name: "D", config: {}, ...body } });
    const made = await create({ type: "snowflake" });
    const { type, deliveredBy } = made.body.destination;
    expect([type, deliveredBy]).toEqual(["snowflake", "rudder-server"]);
    expect((await create({ type: "NOTHING" })).status).toBe(400);
    expect((await create({ type: "file", deliveredBy: "rudder-server" })).status).toBe(400);
    expect((await create({ type: "SNOWFLAKE", deliveredBy: "pixelmill" })).status).toBe(400);
  });

  test("has no figures, and is refused a test and a replay", async () => {
    const { id } = await make("destinations", { name: "Theirs", ...webhook });
    const { destination } = (await api.send("GET", `/v2/status/destinations/${id}`)).body;
    expect([destination.state, destination.deliveredBy]).toEqual(["external", "rudder-server"]);
    expect((await api.send("POST", `/v2/destinations/${id}/test`)).status).toBe(409);
    const body = { destinationId: id, from: new Date(Date.now() - 1e6).toISOString() };
    expect((await api.send("POST", "/v2/replays", { body })).status).toBe(409);
    const { problems } = (await api.send("GET", "/v2/overview")).body;
    expect(problems.filter((it: { destinationId?: string }) => it.destinationId === id)).toEqual(
      [],
    );
  });

  test("gives no events to pixelmill's pipeline", async () => {
    const source = await make("sources", { name: "Both" });
    const { id } = await make("destinations", { name: "Theirs", ...webhook });
    await make("connections", { sourceId: source.id, destinationId: id });
    expect(api.catalog.live.lane(id)).toBeUndefined();
    expect(api.catalog.live.lanes().map((it) => it.destination.id)).not.toContain(id);
  });
});
