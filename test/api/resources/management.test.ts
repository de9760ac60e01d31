import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DEDUP_SECONDS_MAX, SOURCE_ORIGINS_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const webhook = { webhookUrl: "http://127.0.0.1:9/hook" };

describe("/v2/sources", () => {
  test("are created, changed, rotated and deleted", async () => {
    const { source } = await api.client.call("POST /v2/sources", {
      body: { name: " Shop ", type: "http" },
    });
    expect(source).toEqual({
      id: expect.any(String),
      workspaceId: api.workspaceId,
      name: "Shop",
      type: "http",
      writeKey: expect.any(String),
      enabled: true,
      config: {},
      settings: {
        ...{ geoEnrichment: false, ip: "keep", bots: "keep", allowedOrigins: [], dedupSeconds: 0 },
      },
      createdAt: expect.any(String),
      updatedAt: source.createdAt,
    });
    const params = { id: source.id };
    expect(await api.client.call("GET /v2/sources/{id}", { params })).toEqual({ source });
    const changed = await api.client.call("PUT /v2/sources/{id}", {
      params,
      body: { enabled: false, config: { a: 1 } },
    });
    expect(changed.source).toMatchObject({ name: "Shop", enabled: false, config: { a: 1 } });
    const named = await api.client.call("PUT /v2/sources/{id}", { params, body: { name: "Two" } });
    expect(named.source).toMatchObject({ name: "Two", enabled: false, config: { a: 1 } });
    const rotated = await api.client.call("POST /v2/sources/{id}/rotate-write-key", { params });
    expect(rotated.source.writeKey).not.toBe(source.writeKey);
    expect(api.catalog.live.source(source.writeKey)).toBeUndefined();
    expect(api.catalog.live.source(rotated.source.writeKey)?.id).toBe(source.id);
    const deleted = await api.send("DELETE", `/v2/sources/${source.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect((await api.send("DELETE", `/v2/sources/${source.id}`)).status).toBe(404);
  });

  test("have settings, of which a change leaves the others", async () => {
    const settings = { ip: "truncate" as const, allowedOrigins: ["https://*.example.com"] };
    const body = { name: "Settings", config: { bots: 1 }, settings };
    const { source } = await api.client.call("POST /v2/sources", { body });
    const all = { geoEnrichment: false, bots: "keep", dedupSeconds: 0 };
    expect(source.settings as object).toEqual({ ...all, ...settings });
    const params = { id: source.id };
    const change = { settings: { bots: "drop" as const } };
    const changed = await api.client.call("PUT /v2/sources/{id}", { params, body: change });
    expect(changed.source.settings as object).toEqual({ ...all, ...settings, ...change.settings });
    expect(changed.source.config).toEqual({ bots: 1 });
    const named = await api.client.call("PUT /v2/sources/{id}", { params, body: { name: "N" } });
    expect(named.source.settings).toEqual(changed.source.settings);
  });

  test.each([
    [{ ip: "hide" }, "/settings/ip"],
    [{ bots: true }, "/settings/bots"],
    [{ geoEnrichment: "yes" }, "/settings/geoEnrichment"],
    [{ allowedOrigins: ["example.com"] }, "/settings/allowedOrigins/0"],
    [
      { allowedOrigins: Array(SOURCE_ORIGINS_MAX + 1).fill("https://a.b") },
      "/settings/allowedOrigins",
    ],
    [{ dedupSeconds: -1 }, "/settings/dedupSeconds"],
    [{ dedupSeconds: 1.5 }, "/settings/dedupSeconds"],
    [{ dedupSeconds: DEDUP_SECONDS_MAX + 1 }, "/settings/dedupSeconds"],
    [{ dedup: 5 }, "/settings"],
  ])("refuse the settings %j at %s", async (settings, path) => {
    const refused = api.client.call("POST /v2/sources", {
      body: { name: "S", settings: settings as never },
    });
    const error = (await refused.catch((thrown) => thrown)) as {
      status: number;
      details: object[];
    };
    expect(error).toMatchObject({ status: 400 });
    expect(JSON.stringify(error.details)).toContain(`"${path}"`);
  });

  test("are listed in pages that name the next page", async () => {
    const empty = await api.catalog.workspaces.create("Pages");
    const token = await api.tokenWith(["workspace:admin"], empty.id);
    for (let n = 0; n < 100; n++) await api.catalog.sources.create(empty.id, { name: `S${n}` });
    const page = async (path: string) => (await api.send("GET", `/v2${path}`, { token })).body;
    expect((await page("/sources")).paging).toEqual({ total: 100 });
    await api.catalog.sources.create(empty.id, { name: "S100" });
    const first = await page("/sources");
    expect([first.sources.length, first.paging]).toEqual([
      100,
      { total: 101, next: "/sources?page=2" },
    ]);
    const second = await page(first.paging.next);
    expect([second.sources.length, second.paging]).toEqual([1, { total: 101 }]);
    expect(second.sources[0].name).toBe("S100");
    expect((await page("/sources?page=3")).sources).toEqual([]);
  });
});

describe("/v2/destinations", () => {
  test("keep the consents that a destination needs until others are sent", async () => {
    const create = (consentIds?: string[]) =>
      api.client.call("POST /v2/destinations", {
        body: { name: "Ads", type: "webhook", config: webhook, ...(consentIds && { consentIds }) },
      });
    expect((await create()).destination).not.toHaveProperty("consentIds");
    const { destination } = await create(["ads", "c2"]);
    expect(destination.consentIds).toEqual(["ads", "c2"]);
    const params = { id: destination.id };
    const change = (body: object) => api.client.call("PUT /v2/destinations/{id}", { params, body });
    expect((await change({ name: "Two" })).destination.consentIds).toEqual(["ads", "c2"]);
    expect((await change({ consentIds: [] })).destination.consentIds).toEqual([]);
    const { status } = await api.send("PUT", `/v2/destinations/${destination.id}`, {
      body: { consentIds: [""] },
    });
    expect(status).toBe(400);
  });

  test("keep the event filter until another is sent, and null removes it", async () => {
    const filter = { mode: "only" as const, conditions: [{ path: "type", values: ["track"] }] };
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "Filtered", type: "webhook", config: webhook, filter },
    });
    expect(destination.filter).toEqual(filter);
    const params = { id: destination.id };
    const change = (body: object) => api.client.call("PUT /v2/destinations/{id}", { params, body });
    expect((await change({ name: "Two" })).destination.filter).toEqual(filter);
    expect((await change({ filter: null })).destination).not.toHaveProperty("filter");
    const { body } = await api.send("GET", `/v2/audit?resource=${destination.id}`);
    const [changed] = body.entries[0].changes.filter(({ path }: any) => path === "filter.mode");
    expect(changed).toEqual({ path: "filter.mode", before: "only" });
    for (const conditions of [[], [{ path: "", values: ["a"] }], [{ path: "type", values: [] }]]) {
      const wrong = { filter: { mode: "only", conditions } };
      expect((await put(destination.id, wrong)).status).toBe(400);
    }
  });

  const put = (id: string, body: unknown) => api.send("PUT", `/v2/destinations/${id}`, { body });
  const stored = (id: string) => api.catalog.destinations.get(api.workspaceId, id).config;

  test("answer everything but secrets, and keep those that an update omits", async () => {
    const secret = `whsec_${"A".repeat(32)}`;
    const { status, body } = await api.send("POST", "/v2/destinations", {
      body: { name: "Hook", type: "webhook", config: { ...webhook, secret } },
    });
    expect(status).toBe(201);
    const { destination } = body;
    expect(destination).toEqual({
      id: expect.any(String),
      workspaceId: api.workspaceId,
      version: 1,
      name: "Hook",
      type: "webhook",
      deliveredBy: "pixelmill",
      enabled: true,
      endpoint: webhook.webhookUrl,
      config: webhook,
      secretsSet: ["/secret"],
      createdAt: expect.any(String),
      updatedAt: destination.createdAt,
    });
    const { id } = destination;
    expect(stored(id)).toEqual({ ...webhook, secret });
    // Without config: as it was. With one: replaced, but for the secret.
    expect((await put(id, { name: "Renamed" })).body.destination.config).toEqual(webhook);
    const changed = await put(id, { config: { ...webhook, batchSize: 10 } });
    expect(changed.body.destination.config).toEqual({ ...webhook, batchSize: 10 });
    expect(stored(id)).toEqual({ ...webhook, batchSize: 10, secret });
    await put(id, { config: { ...webhook, secret: null } });
    expect(stored(id)).toEqual(webhook);
    for (const path of [`/v2/destinations/${id}`, "/v2/destinations"]) {
      expect((await api.send("GET", path)).text).not.toContain(secret);
    }
    expect((await api.send("DELETE", `/v2/destinations/${id}`)).status).toBe(204);
  });

  test("keep a secret inside an object, and answer the rest of it", async () => {
    const oauth = { tokenUrl: "https://a.test/token", clientId: "id", clientSecret: "hidden-1" };
    const { clientSecret, ...shown } = oauth;
    const { body } = await api.send("POST", "/v2/destinations", {
      body: { name: "Hook", type: "webhook", config: { ...webhook, oauth } },
    });
    const { id, config } = body.destination;
    expect(config).toEqual({ ...webhook, oauth: shown });
    const changed = await put(id, { config: { ...config, oauth: { ...shown, scope: "a" } } });
    expect(changed.body.destination.config.oauth).toEqual({ ...shown, scope: "a" });
    expect(stored(id).oauth).toEqual({ ...oauth, scope: "a" });
    await put(id, { config: { ...config, oauth: { ...shown, clientSecret: "" } } });
    expect(stored(id).oauth).toEqual(oauth);
    await put(id, { config: { ...config, oauth: { ...shown, clientSecret: "hidden-2" } } });
    expect(stored(id).oauth).toEqual({ ...oauth, clientSecret: "hidden-2" });
    for (const path of [`/v2/destinations/${id}`, "/v2/destinations"]) {
      expect((await api.send("GET", path)).text).not.toContain("hidden");
    }
    await put(id, { config: webhook });
    expect(stored(id)).toEqual(webhook);
    const without = await put(id, { config: { ...webhook, oauth: shown } });
    expect(without.body.details).toMatchObject([{ path: "/config/oauth/clientSecret" }]);
    const misspelt = await put(id, { config: { ...webhook, oauth: { ...oauth, tokenUri: "x" } } });
    expect(misspelt.body.details).toMatchObject([{ path: "/config/oauth" }]);
  });

  test("answer no values of secret headers, and keep those that come back as they were answered", async () => {
    const headers = [
      { from: "Authorization", to: "Bearer hidden-1" },
      { from: "X-Team-Key", to: "hidden-2" },
      { from: "X-Team-Key", to: "hidden-3" },
      { from: "X-Empty", to: "" },
    ];
    const { body } = await api.send("POST", "/v2/destinations", {
      body: { name: "Hook", type: "webhook", config: { ...webhook, headers } },
    });
    const { id, config } = body.destination;
    const shown = headers.map(({ from }) => ({ from, to: "" }));
    expect(config).toEqual({ ...webhook, headers: shown });
    for (const path of [`/v2/destinations/${id}`, "/v2/destinations"]) {
      expect((await api.send("GET", path)).text).not.toContain("hidden");
    }
    // A client that reads, changes one field and writes.
    const changed = await put(id, { config: { ...config, batchSize: 7 } });
    expect(changed.body.destination.config).toEqual({ ...config, batchSize: 7 });
    expect(stored(id)).toEqual({ ...webhook, headers, batchSize: 7 });
    // In another order, without values, and with one that is new.
    await put(id, {
      config: {
        ...webhook,
        headers: [
          { from: "X-Team-Key" },
          { from: "New-Token", to: "hidden-4" },
          { from: "Authorization" },
        ],
      },
    });
    expect(stored(id).headers).toEqual([
      ...[headers[1]!, { from: "New-Token", to: "hidden-4" }, headers[0]!],
    ]);
    await put(id, { config: { ...webhook, headers: [{ from: "New-Token", to: "hidden-5" }] } });
    expect(stored(id).headers).toEqual([{ from: "New-Token", to: "hidden-5" }]);
    await put(id, { config: webhook });
    expect(stored(id)).toEqual(webhook);
    await put(id, { config: { ...webhook, headers } });
    // The most items that a body holds: comparing each with each stored item would take long.
    const crowd = { ...webhook, headers: Array.from({ length: 15_000 }, () => ({ from: "X" })) };
    expect((await put(id, { config: crowd })).status).toBe(400);
    await put(id, { config: webhook });
    const missing = await put(id, { config: { ...webhook, headers: [{ from: "New-Token" }] } });
    expect(missing.status).toBe(400);
  });

  test.each([
    [{ Secret: "s3cret-value" }, "/config", 'Unknown key "Secret", did you mean secret?'],
    [
      { signingSecret: "s3cret-value" },
      "/config",
      'Unknown key "signingSecret", did you mean secret?',
    ],
    [{ webhook_url: "s3cret-value" }, "/config", 'Unknown key "webhook_url", did you mean webho'],
    [{ header: [] }, "/config", 'Unknown key "header", did you mean headers?'],
    [{ zzz: 1 }, "/config", 'Unknown key "zzz"'],
    [{ "a b": 1 }, "/config", "Unknown key"],
    [
      {
        headers: [
          { from: "A", to: "b" },
          { form: "A", to: "b" },
        ],
      },
      "/config/headers/1",
      'Unknown key "form", did you mean from?',
    ],
    [
      { headers: [{ from: "A", value: "s3cret-value" }] },
      "/config/headers/0",
      'Unknown key "value", expected one of from, to',
    ],
  ])("refuse the unknown key of %p and name the nearest", async (extra, path, message) => {
    const body = { name: "Hook", type: "webhook", config: { ...webhook, ...extra } };
    const answer = await api.send("POST", "/v2/destinations", { body });
    expect([answer.status, answer.body.details?.[0].path]).toEqual([400, path]);
    expect(answer.body.details[0].message).toStartWith(message);
    expect(answer.text).not.toContain("s3cret-value");
  });

  test("keep the fields of RudderStack's clients that have no effect here", async () => {
    const config = {
      ...webhook,
      connectionMode: { web: "cloud" },
      consentManagement: { web: [{ provider: "oneTrust", consents: [{ consent: "C1" }] }] },
      oneTrustCookieCategories: { web: [{ oneTrustCookieCategory: "C1" }] },
      ketchConsentPurposes: { web: [{ purpose: "P1" }] },
    };
    const { status, body } = await api.send("POST", "/v2/destinations", {
      body: { name: "Hook", type: "WEBHOOK", config },
    });
    expect([status, body.destination.config]).toEqual([201, config]);
  });

  test.each([
    [{ name: "A", type: "nope", config: {} }, "/type"],
    [{ name: "A", type: "webhook", config: {} }, "/config/webhookUrl"],
    [{ name: "A", type: "webhook" }, "/config/webhookUrl"],
    [{ name: "A", type: "webhook", config: { webhookUrl: "ftp://a.b" } }, "/config/webhookUrl"],
    [{ name: "A", type: "file", config: { path: "../up" } }, "/config/path"],
    [{ name: "A", type: "file", config: [] }, "/config"],
    [{ name: "A", config: {} }, "/type"],
  ])("refuse %p", async (body, path) => {
    const answer = await api.send("POST", "/v2/destinations", { body });
    expect([answer.status, answer.body.details?.[0].path]).toEqual([400, path]);
    expect(answer.body.error).toBe(answer.body.message);
  });

  test("keep their type and are refused a config that does not fit it", async () => {
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "File", type: "file", config: { path: "a.jsonl" } },
    });
    const answer = await put(destination.id, { type: "webhook", config: webhook });
    expect(answer.status).toBe(400);
    expect(answer.body.details.map((it: any) => it.path)).toEqual(["/config", "/config/path"]);
    expect(stored(destination.id)).toEqual({ path: "a.jsonl" });
  });
});

describe("/v2/connections", () => {
  test("connect a source and a destination of the workspace once", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "D", type: "file", config: { path: "a.jsonl" } },
    });
    const body = { sourceId: source.id, destinationId: destination.id };
    const { connection } = await api.client.call("POST /v2/connections", { body });
    expect(connection).toEqual({
      ...body,
      id: expect.any(String),
      workspaceId: api.workspaceId,
      enabled: true,
      createdAt: expect.any(String),
      updatedAt: connection.createdAt,
    });
    expect((await api.send("POST", "/v2/connections", { body })).status).toBe(409);
    for (const bad of [
      { ...body, sourceId: "unknown" },
      { ...body, destinationId: "unknown" },
    ]) {
      expect((await api.send("POST", "/v2/connections", { body: bad })).status).toBe(404);
    }
    const params = { id: connection.id };
    const paused = await api.client.call("PUT /v2/connections/{id}", {
      params,
      body: { enabled: false },
    });
    expect(paused.connection.enabled).toBe(false);
    expect((await api.client.call("GET /v2/connections")).connections).toEqual([paused.connection]);
    await api.client.call("DELETE /v2/connections/{id}", { params });
    expect((await api.send("GET", `/v2/connections/${connection.id}`)).status).toBe(404);
  });
});

test("a config may have any keys, `__proto__` and `constructor` too", async () => {
  const config = {
    toJSON: "text",
    toString: { valueOf: 1 },
    constructor: { name: "Date" },
    length: 2,
    "": [{ toJSON: { a: 1 } }],
  };
  const { status, body } = await api.send("POST", "/v2/sources", { body: { name: "S", config } });
  expect([status, body.source?.config]).toEqual([201, config]);
  const read = await api.send("GET", `/v2/sources/${body.source.id}`);
  expect(read.body.source.config).toEqual(config);
});

test("an unknown field of a change is not stored", async () => {
  const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name: "D", type: "file", config: { path: "a.jsonl" } },
  });
  const { connection } = await api.client.call("POST /v2/connections", {
    body: { sourceId: source.id, destinationId: destination.id },
  });
  const more = { externalId: { $: 1 }, id: "x", writeKey: "x", typeAs: 1, createdAt: 1 };
  for (const [path, key, before] of [
    [`/v2/sources/${source.id}`, "source", source],
    [`/v2/destinations/${destination.id}`, "destination", destination],
    [`/v2/connections/${connection.id}`, "connection", connection],
  ] as const) {
    const { status, body } = await api.send("PUT", path, { body: { ...more, enabled: true } });
    expect([status, body[key]]).toEqual([200, { ...before, updatedAt: body[key].updatedAt }]);
  }
});

test("a destination's transformation can be set from the destination's side", async () => {
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name: "D", type: "file", config: { path: "a.jsonl" } },
  });
  const { id: transformationId } = await api.client.call("POST /transformations", {
    query: { publish: true },
    body: { name: "T", language: "javascript", code: "export const transformEvent = (it) => it;" },
  });
  const params = { id: destination.id };
  const path = `/v2/destinations/${destination.id}/transformation`;
  expect((await api.send("GET", path)).status).toBe(404);
  const since = Date.now();
  const set = await api.client.call("PUT /v2/destinations/{id}/transformation", {
    params,
    body: { transformationId },
  });
  expect(set).toEqual({
    destinationId: destination.id,
    transformationId,
    createdAt: expect.any(String),
    updatedAt: set.createdAt,
  });
  expect(Date.parse(set.createdAt)).toBeGreaterThanOrEqual(since);
  expect(await api.client.call("GET /v2/destinations/{id}/transformation", { params })).toEqual(
    set,
  );
  const listed = (await api.client.call("GET /v2/destinations")).destinations;
  expect(listed.find((it) => it.id === destination.id)?.transformation).toEqual({
    id: transformationId,
  });
  expect((await api.send("DELETE", path)).status).toBe(204);
  expect((await api.send("DELETE", path)).status).toBe(204);
  expect((await api.send("GET", path)).status).toBe(404);
});

test("a created link is answered, whatever concurrent calls do", async () => {
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name: "D", type: "file", config: { path: "b.jsonl" } },
  });
  const { id } = await api.client.call("POST /transformations", {
    query: { publish: true },
    body: { name: "T", language: "javascript", code: "export const transformEvent = (it) => it;" },
  });
  const path = `/v2/destinations/${destination.id}/transformation`;
  const link = `/transformations/${id}/connectToDestination`;
  for (let round = 0; round < 10; round++) {
    const [set, linked] = await Promise.all([
      api.send("PUT", path, { body: { transformationId: id } }),
      api.send("POST", link, { body: { destinationId: destination.id } }),
      api.send("DELETE", path),
    ]);
    expect([set.status, linked.status]).toEqual([200, 200]);
    expect(linked.body.destinations).toHaveLength(1);
  }
});

describe("/v2/credentials", () => {
  test("are named secrets that are never answered", async () => {
    const value = crypto.randomUUID();
    const set = async (sent: unknown) => api.send("POST", "/v2/credentials", { body: sent });
    const first = await set({ name: "KEY", value });
    const second = await set({ name: "KEY", value: `${value}2` });
    expect(second.body.credential.id).toBe(first.body.credential.id);
    const { text, body } = await api.send("GET", "/v2/credentials");
    expect(text).not.toContain(value);
    expect(body.credentials.map((it: any) => it.name)).toEqual(["KEY"]);
    for (const name of ["1a", "a b", "", "a-b"])
      expect((await set({ name, value })).status).toBe(400);
    const { id } = first.body.credential;
    await api.client.call("DELETE /v2/credentials/{id}", { params: { id } });
    expect((await api.client.call("GET /v2/credentials")).credentials).toEqual([]);
  });
});

test("GET /v2/workspace and the catalogues that rudder-cli loads", async () => {
  const { workspace } = await api.client.call("GET /v2/workspace");
  expect(workspace).toMatchObject({
    id: api.workspaceId,
    name: "Acme",
    dataPlaneURL: "http://127.0.0.1:8080",
  });
  const { status, body } = await api.send("GET", "/v2/catalog/tracking-plans");
  expect([status, body]).toEqual([200, {}]);
});
