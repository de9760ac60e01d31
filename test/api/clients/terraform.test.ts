import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";
import { asClient } from "./_ask.ts";

/**
 * Requests of RudderStack's Terraform provider and its Go clients, one by one: they marshal
 * whole structs, so a config that was never set is null, and they compare what they read with what
 * they sent.
 */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

/** A request as Go's client sends it: its headers, its base address with or without `/v2`. */
const ask = asClient(() => api, "terraform-provider-rudderstack");

/** Drift is what a second read shows otherwise than what was applied. */
function expectNoDrift(sent: Record<string, unknown>, read: Record<string, unknown>): void {
  expect(Object.fromEntries(Object.keys(sent).map((key) => [key, read[key]]))).toEqual(sent);
}

test("the Terraform provider applies, plans, changes, drifts, imports and destroys", async () => {
  const wanted = { name: "tf http", type: "HTTP", enabled: true };
  const { source } = await ask("POST", "/v2/sources", { ...wanted, config: null });
  expect(source.config).toEqual({});
  const hook = {
    name: "tf hook",
    type: "WEBHOOK",
    enabled: true,
    config: { webhookUrl: "https://example.com/hook", webhookMethod: "POST" },
  };
  const { destination } = await ask("POST", "/v2/destinations", hook);
  const pair = { sourceId: source.id, destinationId: destination.id, enabled: true };
  const { connection } = await ask("POST", "/v2/connections", pair);

  // The plan is empty.
  expectNoDrift(wanted, (await ask("GET", `/v2/sources/${source.id}`)).source);
  expectNoDrift(hook, (await ask("GET", `/v2/destinations/${destination.id}`)).destination);
  expectNoDrift(pair, (await ask("GET", `/v2/connections/${connection.id}`)).connection);

  const kept = { geoEnrichmentEnabled: true, transient: false };
  const changed = { ...wanted, name: "tf renamed", config: null, ...kept };
  await ask("PUT", `/v2/sources/${source.id}`, { ...changed, createdAt: source.createdAt });
  const read = (await ask("GET", `/v2/sources/${source.id}`)).source;
  expectNoDrift({ ...changed, config: {} }, read);
  expect(read.writeKey).toBe(source.writeKey);

  // Another client changes it behind Terraform's back, and Terraform sets it right.
  await ask("PUT", `/v2/destinations/${destination.id}`, { enabled: false });
  await ask("PUT", `/v2/destinations/${destination.id}`, hook);
  expectNoDrift(hook, (await ask("GET", `/v2/destinations/${destination.id}`)).destination);

  const { id: transformationId } = await ask("POST", "/transformations?publish=true", {
    name: "tf code",
    language: "javascript",
    code: "export const transformEvent = (event) => event;",
  });
  const link = `/v2/destinations/${destination.id}/transformation`;
  const made = await ask("PUT", link, { transformationId });
  for (const time of [made.createdAt, made.updatedAt]) expect(Date.parse(time)).toBeNumber();
  const linked = (await ask("GET", `/v2/destinations/${destination.id}`)).destination;
  expect(linked.transformation).toEqual({ id: transformationId });
  await ask("DELETE", link);

  for (const path of [
    `/v2/connections/${connection.id}`,
    `/v2/destinations/${destination.id}`,
    `/v2/sources/${source.id}`,
  ]) {
    await ask("DELETE", path);
    expect((await api.send("GET", path)).status).toBe(404);
  }
});

test("the Terraform provider replaces the ends of a connection", async () => {
  const hook = (name: string) => ({
    name,
    type: "WEBHOOK",
    enabled: true,
    config: { webhookUrl: `https://example.com/${name}` },
  });
  const { source } = await ask("POST", "/v2/sources", { name: "S", type: "HTTP", enabled: true });
  const { destination } = await ask("POST", "/v2/destinations", hook("one"));
  const pair = { sourceId: source.id, destinationId: destination.id, enabled: true };
  const { connection } = await ask("POST", "/v2/connections", { ...pair, externalId: "c" });
  const path = `/v2/connections/${connection.id}`;

  // The destination is another one.
  const two = (await ask("POST", "/v2/destinations", hook("two"))).destination;
  const repointed = { ...pair, destinationId: two.id };
  expectNoDrift(repointed, (await ask("PUT", path, repointed)).connection);
  expectNoDrift(repointed, (await ask("GET", path)).connection);

  // The destination is replaced: deleted, created again, and the connection is updated.
  await ask("DELETE", `/v2/destinations/${two.id}`);
  expect((await api.send("GET", path)).status).toBe(404);
  const three = (await ask("POST", "/v2/destinations", hook("three"))).destination;
  const replaced = { ...pair, destinationId: three.id };
  await ask("PUT", path, replaced);
  const read = (await ask("GET", path)).connection;
  expectNoDrift({ ...replaced, id: connection.id, externalId: "c" }, read);

  const unknown = await api.send("PUT", path, { body: { ...pair, destinationId: "unknown" } });
  expect([unknown.status, unknown.body.message]).toEqual([404, "Destination not found"]);
});

test("a config that is given as null later empties it, an absent one keeps it", async () => {
  const { source } = await ask("POST", "/v2/sources", {
    name: "S",
    type: "Http",
    config: { note: 1 },
  });
  expect([source.type, source.config]).toEqual(["Http", { note: 1 }]);
  const path = `/v2/sources/${source.id}`;
  expect((await ask("PUT", path, { enabled: false })).source.config).toEqual({ note: 1 });
  expect((await ask("PUT", path, { config: null })).source.config).toEqual({});
});

test("the newer Go client follows the addresses of all pages, which lack /v2", async () => {
  const other = await startApi();
  for (let n = 0; n < 205; n++) {
    await other.catalog.sources.create(other.workspaceId, { name: `Source ${n}` });
  }
  const names: string[] = [];
  for (let next = "/v2/sources"; next; ) {
    const { status, body } = await other.send("GET", next);
    expect(status).toBe(200);
    names.push(...body.sources.map((it: any) => it.name));
    next = body.paging.next ?? "";
    expect(next).not.toStartWith("/v2");
  }
  expect(new Set(names).size).toBe(205);
  await other.stop();
});

test("items that rudder-cli manages have an external id, which is not empty", async () => {
  const { source } = await ask("POST", "/v2/sources", { name: "S", externalId: "" });
  expect(source).not.toHaveProperty("externalId");
  const { destination } = await ask("POST", "/v2/destinations", {
    name: "D",
    type: "file",
    config: { path: "d.jsonl" },
  });
  const { connection } = await ask("POST", "/v2/connections", {
    externalId: "from-cli",
    sourceId: source.id,
    destinationId: destination.id,
    enabled: true,
  });
  expect(connection.externalId).toBe("from-cli");
  for (const [kind, key, { id }] of [
    ["sources", "source", source],
    ["destinations", "destination", destination],
    ["connections", "connection", connection],
  ] as const) {
    const path = `/v2/${kind}/${id}`;
    const setTo = (externalId: string) =>
      api.send("PUT", `${path}/external-id`, { body: { externalId } });
    if (kind === "connections") {
      // An external id is set once.
      expect((await setTo("other")).status).toBe(409);
      expect((await setTo("from-cli")).status).toBe(200);
      expect((await setTo("")).status).toBe(200);
    }
    await ask("PUT", `${path}/external-id`, { externalId: `${kind}-1` });
    expect((await ask("GET", path))[key].externalId).toBe(`${kind}-1`);
    // A change of something else leaves it alone.
    await ask("PUT", path, { enabled: true });
    const listed = (await ask("GET", `/${kind}`))[kind].find((it: any) => it.id === id);
    expect(listed.externalId).toBe(`${kind}-1`);
    const cleared = (await ask("PUT", `${path}/external-id`, { externalId: "" }))[key];
    expect(cleared).not.toHaveProperty("externalId");
    const unknown = await api.send("PUT", `/v2/${kind}/unknown/external-id`, {
      body: { externalId: "x" },
    });
    expect(unknown.status).toBe(404);
  }
});

test("an external id belongs to one item of a kind", async () => {
  const file = (name: string) => ({ name, type: "FILE", config: { path: `${name}.jsonl` } });
  const source = async (more = {}) => ask("POST", "/v2/sources", { name: "S", ...more });
  const destination = async (more = {}) =>
    ask("POST", "/v2/destinations", { ...file("o"), ...more });
  const first = (await source({ externalId: "one" })).source;
  const other = (await source()).source;
  const refused = async (method: string, path: string, body: object) => {
    const { status, body: answer } = await api.send(method, path, { body });
    const message = "Another item of this kind has the external id";
    expect([path, status, answer.message]).toEqual([path, 409, message]);
  };
  await refused("POST", "/v2/sources", { name: "S", externalId: "one" });
  await refused("PUT", `/v2/sources/${other.id}/external-id`, { externalId: "one" });
  await refused("PUT", `/v2/event-stream-sources/${other.id}/external-id`, { externalId: "one" });
  // Another kind has external ids of its own, and one that was given up is free.
  const theirs = (await destination({ externalId: "one" })).destination;
  await refused("POST", "/v2/destinations", { ...file("p"), externalId: "one" });
  await ask("DELETE", `/v2/sources/${first.id}`);
  await ask("PUT", `/v2/sources/${other.id}/external-id`, { externalId: "one" });

  const pair = { sourceId: other.id, destinationId: theirs.id };
  const { connection } = await ask("POST", "/v2/connections", { ...pair, externalId: "one" });
  const free = (await destination()).destination;
  const taken = { sourceId: other.id, destinationId: free.id, externalId: "one" };
  await refused("POST", "/v2/connections", taken);
  // A removed connection comes back only while its external id is free.
  await ask("DELETE", `/v2/destinations/${theirs.id}`);
  await ask("POST", "/v2/connections", taken);
  const next = (await destination()).destination;
  const back = { ...pair, destinationId: next.id };
  await refused("PUT", `/v2/connections/${connection.id}`, back);
});

test("managed and unmanaged items are listed apart, page by page", async () => {
  const other = await startApi();
  const list = async (path: string) => (await other.send("GET", path)).body;
  for (let n = 0; n < 103; n++) {
    await other.catalog.sources.create(other.workspaceId, {
      name: `Source ${n}`,
      ...(n < 101 && { externalId: `source-${n}` }),
    });
  }
  const first = await list("/v2/sources?hasExternalId=true");
  expect([first.sources.length, first.paging]).toEqual([
    100,
    { total: 101, next: "/sources?page=2&hasExternalId=true" },
  ]);
  const second = await list(first.paging.next);
  expect(second.sources.map((it: any) => it.name)).toEqual(["Source 100"]);
  const [managed] = second.sources;
  await other.send("PUT", `/v2/sources/${managed.id}/external-id`, { body: { externalId: "" } });
  await other.send("DELETE", `/v2/sources/${first.sources[0].id}`);
  expect((await list("/v2/sources?hasExternalId=true")).paging).toEqual({ total: 99 });
  const rest = await list("/v2/sources?hasExternalId=false");
  expect(rest.sources.map((it: any) => it.name)).toEqual([
    "Source 100",
    "Source 101",
    "Source 102",
  ]);
  expect((await list("/v2/sources")).paging.total).toBe(102);

  const code = "export const transformEvent = (event) => event;";
  for (const externalId of ["one", ""]) {
    const body = { name: externalId || "none", language: "javascript", code, externalId };
    await other.send("POST", "/transformations?publish=true", { body });
    await other.send("POST", "/libraries", { body });
  }
  for (const [path, key] of [
    ["/transformations?", "transformations"],
    ["/libraries?published=false&", "libraries"],
  ] as const) {
    for (const [has, name] of [
      [true, "one"],
      [false, "none"],
    ] as const) {
      const listed = (await list(`${path}hasExternalId=${has}`))[key];
      expect(listed.map((it: any) => it.name)).toEqual([name]);
    }
  }
  await other.stop();
});

const consents = {
  consentManagement: {
    web: [{ provider: "custom", resolutionStrategy: "and", consents: [{ consent: "C1" }] }],
  },
};
/** The provider's destinations of kinds that exist here: what its tests create and update. */
test.each([
  [
    "S3",
    { bucketName: "bucket", prefix: "prefix", accessKeyID: "...", enableSSE: true },
    { accessKey: "..." },
  ],
  [
    "POSTGRES",
    {
      ...{ host: "test-host", database: "test-database", user: "test-user", port: "5432" },
      ...{ sslMode: "disable", syncFrequency: "60", useRudderStorage: true },
    },
    { password: "test-password" },
  ],
  [
    "KAFKA",
    { hostName: "example.com", port: "9092", topic: "t", sslEnabled: true, saslType: "plain" },
    {},
  ],
  ["KAFKA", { hostName: "example.com", port: "9092", topic: "t", caCertificate: "example" }, {}],
  ["WEBHOOK", { webhookUrl: "https://example.com/some/path?query=a", webhookMethod: "GET" }, {}],
])("a destination of the type %s is answered in RudderStack's keys: %p", async (...it) => {
  const [type, config, secrets] = it;
  const wanted = { name: "D", type, enabled: true };
  const body = { ...wanted, config: { ...config, ...secrets } };
  const { destination } = await ask("POST", "/v2/destinations", body);
  expect(destination.config).toEqual(config);
  const path = `/v2/destinations/${destination.id}`;
  const more = { ...body, config: { ...body.config, ...consents } };
  await ask("PUT", path, more);
  const read = (await ask("GET", path)).destination;
  expectNoDrift({ ...wanted, config: { ...config, ...consents } }, read);
});

test("a misspelt key of a config is named, and the nearest one", async () => {
  const send = async (type: string, config: object) =>
    (await api.send("POST", "/v2/destinations", { body: { name: "D", type, config } })).body
      .message;
  const s3 = { accessKeyID: "id", accessKey: "key" };
  expect(await send("S3", { ...s3, bucketNam: "b" })).toBe(
    'Unknown key "bucketNam" at /config, did you mean bucketName?',
  );
  expect(await send("S3", { ...s3, bucketName: "b", bucket: "b" })).toBe(
    'Unknown key "bucket" at /config, did you mean bucketName?',
  );
  expect(await send("KAFKA", { hostName: "h", zzz: 1 })).toBe('Unknown key "zzz" at /config');
});

test("rudder-api-go creates a disabled webhook without a URL, which cannot be enabled until whole", async () => {
  const { source } = await ask("POST", "/v2/sources", { name: "S", type: "HTTP" });
  const body = { name: "D", type: "WEBHOOK", enabled: false, config: {} };
  const { destination } = await ask("POST", "/v2/destinations", body);
  expectNoDrift(body, destination);
  const path = `/v2/destinations/${destination.id}`;
  const pair = { sourceId: source.id, destinationId: destination.id };
  await ask("POST", "/v2/connections", pair);
  await api.page(source.id, "anonymousId=a");
  const refusal = async (method: string, to: string, sent: object) => {
    const { status, body } = await api.send(method, to, { body: sent });
    return [status, body.message];
  };
  const message = expect.stringContaining(
    "Expected an absolute http or https URL of at most 2048 characters at /config/webhookUrl, got nothing",
  );
  for (const change of [{ enabled: true }, { enabled: true, config: {} }]) {
    expect(await refusal("PUT", path, change)).toEqual([400, message]);
  }
  const tested = await ask("POST", `${path}/test`);
  expect(tested).toMatchObject({ ok: false, steps: [{ message: expect.stringContaining("URL") }] });
  expect(await refusal("POST", "/v2/destinations", { ...body, enabled: true })).toEqual([
    400,
    message,
  ]);
  // A value that is wrong is refused nevertheless.
  const wrong = await refusal("PUT", path, { config: { webhookUrl: "ftp://a.b" } });
  expect(wrong[0]).toBe(400);
  // Secrets are kept without a URL, and go to no URL that is given later.
  await ask("PUT", path, { config: { secret: "s" } });
  const url = { webhookUrl: "https://example.com/late" };
  expect((await refusal("PUT", path, { config: url }))[0]).toBe(400);
  await ask("PUT", path, { config: { ...url, secret: "s" }, enabled: true });
  expect((await ask("GET", path)).destination).toMatchObject({ enabled: true, config: url });
});

test.each([
  ["file", {}],
  ["S3", { bucketName: "bucket" }],
  ["postgres", {}],
  ["POSTGRES", { sslMode: "disable" }],
  ["clickhouse", {}],
  ["KAFKA", { saslType: "plain" }],
  ["kafka", {}],
])("a disabled destination of the type %s may lack settings: %p", async (type, config) => {
  const body = { name: "D", type, enabled: false, config };
  const { destination } = await ask("POST", "/v2/destinations", body);
  expect(destination.config).toEqual(config);
  const path = `/v2/destinations/${destination.id}`;
  await ask("PUT", path, { name: "E", enabled: false });
  expect((await api.send("PUT", path, { body: { enabled: true } })).status).toBe(400);
});

test("destinations keep the version that a client sends, and have 1 without", async () => {
  const file = { name: "D", type: "FILE", enabled: true, config: { path: "v.jsonl" } };
  for (const [sent, answered] of [
    [{}, 1],
    [{ version: 0 }, 1],
    [{ version: 2 }, 2],
  ] as const) {
    const { destination } = await ask("POST", "/v2/destinations", { ...file, ...sent });
    expect([destination.version, destination.workspaceId]).toEqual([answered, api.workspaceId]);
    const path = `/v2/destinations/${destination.id}`;
    expect((await ask("PUT", path, { name: "E" })).destination.version).toBe(answered);
    expect((await ask("PUT", path, { version: 3 })).destination.version).toBe(3);
    expect((await ask("GET", path)).destination.version).toBe(3);
  }
});

test.each([
  ["POST", "/v2/catalog/events", "data catalog"],
  ["GET", "/v2/catalog/tracking-plans/tp_1", "tracking plans"],
  ["PUT", "/v2/catalog/tracking-plans/tp_1/source-connections", "tracking plans"],
  ["POST", "/v2/accounts", "accounts"],
  ["GET", "/v2/accounts/1", "accounts"],
  ["DELETE", "/v2/accounts/1", "accounts"],
  ["POST", "/v2/retl-sources", "reverse ETL"],
  ["POST", "/v2/retl-sources/1/start", "reverse ETL"],
  ["PUT", "/v2/retl-connections/1", "reverse ETL"],
  ["POST", "/v2/data-graphs", "data graphs"],
])("%s %s, which only RudderStack's cloud has, is refused as clients print it", async (...it) => {
  const [method, path, product] = it;
  const sent = method === "GET" ? {} : { body: { name: "x" } };
  const { status, body } = await api.send(method, path, sent);
  const message = `Feature is not enabled for your account: pixelmill has no ${product}`;
  expect([status, body]).toEqual([403, { message, error: message }]);
});

test("the list of accounts is empty", async () => {
  expect(await ask("GET", "/v2/accounts")).toEqual({ data: [], paging: {} });
  expect(await ask("GET", "/v2/accounts?hasExternalId=true")).toEqual({ data: [], paging: {} });
});

/** All types of sources that the provider knows, and some others of RudderStack's. */
test.each([
  ...["Braze", "Cordova", "Go", "HTTP", "Android", "iOS", "Java", "Javascript", "Node", "Unity"],
  ...["ReactNative", "Ruby", "webhook", "Shopify", "Python", "PHP", "DotNet", "Flutter", "AMP"],
  ...["Customerio", "facebook_lead_ads", "Adjust", "http", "Rust", "x".repeat(64)],
])("a source of the type %s is answered as it was sent, and takes pixels", async (type) => {
  const wanted = { name: "S", type, enabled: true };
  const { source } = await ask("POST", "/v2/sources", wanted);
  const path = `/v2/sources/${source.id}`;
  await ask("PUT", path, { ...wanted, name: "T" });
  const read = (await ask("GET", path)).source;
  expectNoDrift({ ...wanted, name: "T", workspaceId: api.workspaceId }, read);
  expect(api.catalog.live.source(source.writeKey)?.id).toBe(source.id);
});

test.each(["", " ", "1st", "x".repeat(65), "a\nb", "é"])(
  "a source of the type %j is refused",
  async (type) => {
    const { status, body } = await api.send("POST", "/v2/sources", { body: { name: "S", type } });
    expect([status, body.message]).toEqual([
      400,
      expect.stringContaining("Expected http or the name of a type of RudderStack's"),
    ]);
  },
);

test.each([{ type: "webhooks" }, { type: "" }])("an unknown type is refused: %p", async (it) => {
  const config = { webhookUrl: "https://example.com" };
  const { status } = await api.send("POST", "/v2/destinations", {
    body: { name: "D", config, ...it },
  });
  expect(status).toBe(400);
});
