import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

type Config = Record<string, unknown>;

interface Case {
  type: string;
  config: Config;
  /** Pointers of the secrets, and the config with all of them left out as it is answered. */
  secrets: string[];
  /** Changes that send the secrets elsewhere. */
  moves: [change: Config][];
  /** Changes that do not. */
  stays: Config[];
}

/** Settings that RudderStack's clients send for every type, and pixelmill ignores. */
const ignored = {
  ...{ connectionMode: {}, consentManagement: {}, ketchConsentPurposes: {} },
  ...{ oneTrustCookieCategories: {}, useNativeSDK: {}, eventDelivery: {}, eventDeliveryTS: {} },
};
/** Settings of databases and brokers that decide whom TLS believes. */
const otherCertificates = [
  [{ tlsCa: "another authority" }],
  [{ tlsServerName: "evil.test" }],
] satisfies [Config][];
const sizes = { batchSize: 5, timeoutMs: 1_000 };
const tables = { mode: "raw", rawTable: "r" };

const hook = "https://hooks.test/in";
const oauth = { tokenUrl: "https://login.test/token", clientId: "id", clientSecret: "hidden" };
const { clientSecret: _, ...shownOauth } = oauth;
const header = { from: "X-Key", to: "hidden" };

const cases: Case[] = [
  {
    type: "webhook",
    config: { webhookUrl: hook, headers: [header], secret: `whsec_${"A".repeat(32)}` },
    secrets: ["/config/secret", "/config/headers/0/to"],
    moves: [
      [{ webhookUrl: "https://evil.test/in" }],
      [{ webhookUrl: "https://hooks.test.evil.test/in" }],
      [{ webhookUrl: "https://hooks.test:8443/in" }],
      [{ webhookUrl: "http://hooks.test/in" }],
    ],
    stays: [
      { webhookUrl: "https://HOOKS.test:443/other?a=1" },
      { ...ignored, ...sizes, webhookMethod: "PUT", gzip: true, template: "{{event}}" },
      { secretUrl: false },
      { batchSize: 2, batchTemplate: "{{events}}" },
    ],
  },
  {
    type: "webhook",
    config: { webhookUrl: hook, oauth },
    secrets: ["/config/oauth/clientSecret"],
    moves: [
      [{ oauth: { ...shownOauth, tokenUrl: "https://evil.test/token" } }],
      // The token goes where the webhook is.
      [{ webhookUrl: "https://evil.test/in" }],
      // The webhook's receiver is not the token's.
      [{ oauth: { ...shownOauth, tokenUrl: "https://hooks.test/token" } }],
    ],
    stays: [
      { oauth: { ...shownOauth, tokenUrl: "https://login.test/v2/token", scope: "a" } },
      { oauth: { ...shownOauth, clientId: "other", audience: "b", authStyle: "post" } },
    ],
  },
  {
    type: "postgres",
    config: { host: "db.test", database: "d", user: "u", password: "hidden" },
    secrets: ["/config/password"],
    moves: [[{ host: "evil.test" }], [{ port: 5433 }], [{ tls: "off" }], ...otherCertificates],
    stays: [
      { host: "DB.test", port: 5432, tlsServerName: "db.test" },
      { tls: "verify", user: "v", database: "e", schema: "s" },
      { ...ignored, ...sizes, ...tables },
      { eventTables: true },
    ],
  },
  {
    type: "postgres",
    config: {
      ...{ host: "db.test", database: "d", user: "u", password: "hidden" },
      ...{ tlsCa: "an authority", tlsServerName: "name.test" },
    },
    secrets: ["/config/password"],
    moves: [[{ tlsCa: null }], [{ tlsServerName: null }], ...otherCertificates],
    stays: [{ tlsCa: "an authority\n", tlsServerName: "Name.test" }],
  },
  {
    type: "postgres",
    config: { host: "db.test", database: "d", user: "u", password: "hidden", tls: "off" },
    secrets: ["/config/password"],
    moves: [[{ host: "evil.test", tls: "verify" }], [{ tls: "verify", tlsCa: "an authority" }]],
    stays: [{ tls: "verify" }, { tls: "off" }],
  },
  {
    type: "postgres",
    config: {
      ...{ host: "db.test", port: "5432", database: "d", user: "u", password: "hidden" },
      ...{ sslMode: "verify-ca", serverCA: "an authority" },
    },
    secrets: ["/config/password"],
    moves: [[{ serverCA: "another" }], [{ sslMode: "disable" }], [{ host: "evil.test" }]],
    stays: [{ namespace: "n" }, { serverCA: "an authority\n" }],
  },
  {
    type: "clickhouse",
    config: { url: "https://house.test:8443", password: "hidden" },
    secrets: ["/config/password"],
    moves: [
      [{ url: "https://evil.test:8443" }],
      [{ url: "https://house.test" }],
      [{ url: "http://house.test:8443" }],
      ...otherCertificates,
    ],
    stays: [
      { url: "https://house.test:8443/path", tlsServerName: "house.test" },
      { ...ignored, ...sizes, ...tables, user: "v", database: "e" },
      { eventTables: true },
    ],
  },
  {
    type: "s3",
    config: { bucket: "own", accessKeyId: "id", secretAccessKey: "hidden" },
    secrets: ["/config/secretAccessKey"],
    moves: [[{ endpoint: "https://evil.test" }], [{ endpoint: "http://amazonaws.com" }]],
    stays: [
      { region: "eu-west-1", bucket: "other", accessKeyId: "other", prefix: "p" },
      { ...ignored, ...sizes, format: "parquet", pathStyle: true },
      { batchBytes: 2_048, batchAgeMs: 1_000 },
    ],
  },
  {
    type: "kafka",
    config: {
      ...{ brokers: "a.test:9092, b.test:9092", topic: "t", user: "u", password: "hidden" },
      headers: [header],
    },
    secrets: ["/config/password", "/config/headers/0/to"],
    moves: [
      [{ brokers: "a.test:9092,evil.test:9092" }],
      [{ brokers: "a.test:9093" }],
      [{ tls: "off" }],
      ...otherCertificates,
    ],
    stays: [
      { brokers: "b.test:9092" },
      { ...ignored, ...sizes, topic: "s", mechanism: "PLAIN", user: "v" },
      { createTopics: true, compression: "gzip" },
    ],
  },
];

/** Configs in RudderStack's keys. */
const rudderstackCases: Case[] = [
  {
    type: "S3",
    config: { bucketName: "own", accessKeyID: "id", accessKey: "hidden" },
    secrets: ["/config/accessKey"],
    moves: [[{ endpoint: "https://evil.test" }]],
    stays: [{ bucketName: "other", prefix: "/p/", enableSSE: true, roleBasedAuth: false }],
  },
  {
    type: "POSTGRES",
    config: {
      ...{ host: "db.test", database: "d", user: "u", password: "hidden" },
      ...{ port: "5432", sslMode: "require", accessKey: "hidden", useRudderStorage: true },
    },
    secrets: ["/config/password"],
    moves: [
      [{ host: "evil.test" }],
      [{ port: "5433" }],
      [{ sslMode: "disable" }],
      [{ serverCA: "another authority" }],
    ],
    stays: [{ sslMode: "verify-ca", namespace: "n", syncFrequency: "60" }],
  },
  {
    type: "KAFKA",
    config: {
      ...{ hostName: "a.test,b.test", port: "9092", topic: "t", sslEnabled: true },
      ...{ useSASL: true, saslType: "sha256", username: "u", password: "hidden" },
    },
    secrets: ["/config/password"],
    moves: [
      [{ hostName: "evil.test" }],
      [{ port: "9093" }],
      [{ sslEnabled: false }],
      [{ caCertificate: "another authority" }],
    ],
    stays: [{ hostName: "b.test", saslType: "sha512", enableMultiTopic: false }],
  },
];

describe("a secret that is left out", () => {
  test("has a case for every kind that has secrets", async () => {
    const { body } = await api.send("GET", "/v2/destination-types");
    const withSecrets = body.destinationTypes
      .filter(({ deliveredBy }: Config) => deliveredBy === "pixelmill")
      .filter(({ config }: Config) => JSON.stringify(config).includes('"writeOnly":true'))
      .map(({ type }: Config) => type);
    expect([...new Set(cases.map(({ type }) => type))].sort()).toEqual(withSecrets.sort());
  });

  test("has a case for every setting of these kinds: it sends the secret elsewhere, or it does not", async () => {
    const { body } = await api.send("GET", "/v2/destination-types");
    const undecided = body.destinationTypes.flatMap(({ type, config: schema }: Config) => {
      const own = cases.filter((it) => it.type === type);
      if (own.length === 0) return [];
      const changed = own.flatMap(({ moves, stays }) => [...moves.flat(), ...stays]).map(paths);
      return settings(schema as Config)
        .filter((path) => !changed.some((paths) => paths.includes(path)))
        .map((path) => `${type}: ${path}`);
    });
    expect(undecided).toEqual([]);
  });

  test.each([...cases, ...rudderstackCases])(
    "of $type is kept for the same host only: $config",
    async (it) => {
      const { body } = await api.send("POST", "/v2/destinations", {
        body: { name: "D", type: it.type, config: it.config },
      });
      const { id, config: shown } = body.destination;
      const path = `/v2/destinations/${id}`;
      const stored = () => api.catalog.destinations.get(api.workspaceId, id).config;
      for (const [change] of it.moves) {
        const refused = await api.send("PUT", path, { body: { config: { ...shown, ...change } } });
        expect([change, refused.status]).toEqual([change, 400]);
        const { message, details } = refused.body;
        expect(details.map((detail: Config) => detail.path).sort()).toEqual([...it.secrets].sort());
        expect(message).toContain("Expected the secret again, since the one that is kept is for ");
        expect(refused.text).not.toContain("hidden");
        expect(stored()).toEqual(it.config);
        // Who gives all that a client of RudderStack has is believed.
        const whole = await api.send("PUT", path, {
          body: { config: { ...it.config, ...given(it, change) } },
        });
        expect([change, whole.status]).toEqual([change, 200]);
        await api.send("PUT", path, { body: { config: it.config } });
      }
      for (const change of it.stays) {
        const changed = await api.send("PUT", path, { body: { config: { ...shown, ...change } } });
        expect([change, changed.status]).toEqual([change, 200]);
        for (const key of ["secret", "password", "secretAccessKey", "accessKey", "headers"]) {
          expect(stored()[key]).toEqual(it.config[key]);
        }
        expect((stored().oauth as Config | undefined)?.clientSecret).toBe(
          (it.config.oauth as Config | undefined)?.clientSecret,
        );
        await api.send("PUT", path, { body: { config: it.config } });
      }
    },
  );

  test("is the secret that a concurrent call has just set", async () => {
    const config = { webhookUrl: hook, headers: [header] };
    const { body } = await api.send("POST", "/v2/destinations", {
      body: { name: "D", type: "webhook", config },
    });
    const { id } = body.destination;
    const put = (changed: Config) =>
      api.send("PUT", `/v2/destinations/${id}`, { body: { config: { ...config, ...changed } } });
    for (let n = 0; n < 10; n++) {
      const to = `hidden ${n}`;
      const headers = [{ from: header.from, to: "" }];
      await Promise.all([
        put({ headers: [{ ...header, to }] }),
        put({ headers, batchSize: n + 1 }),
      ]);
      const stored = api.catalog.destinations.get(api.workspaceId, id).config;
      expect(stored.headers).toEqual([{ ...header, to }]);
    }
  });

  test("is not needed by a change that removes it", async () => {
    const { body } = await api.send("POST", "/v2/destinations", {
      body: { name: "D", type: "webhook", config: { webhookUrl: hook, headers: [header] } },
    });
    const path = `/v2/destinations/${body.destination.id}`;
    const config = { webhookUrl: "https://other.test/", headers: [] };
    expect((await api.send("PUT", path, { body: { config } })).status).toBe(200);
  });
});

describe("values of webhook headers", () => {
  const headers = [
    { from: "X-Plan", to: "pro" },
    { from: "X-Plan", to: "hidden", secret: true },
    { from: "authorization", to: "Bearer hidden" },
    { from: "X-Api-Key", to: "hidden" },
    { from: "X-Webhook-Signature", to: "hidden" },
    { from: "X-Token", to: "public", secret: false },
  ];
  const create = (of: TestApi) =>
    of.send("POST", "/v2/destinations", {
      body: { name: "D", type: "webhook", config: { webhookUrl: hook, headers } },
    });

  test("are answered, except those that are secret by the config or by their name", async () => {
    const { body, text } = await create(api);
    expect(text).not.toContain("hidden");
    const { id, config } = body.destination;
    const values = config.headers.map(({ to }: Config) => to);
    expect(values).toEqual(["pro", "", "", "", "", "public"]);
    const path = `/v2/destinations/${id}`;
    expect((await api.send("PUT", path, { body: { config } })).status).toBe(200);
    const stored = () => api.catalog.destinations.get(api.workspaceId, id).config.headers;
    expect(stored()).toEqual(headers);

    // A secret value is not shown by a change of what makes it secret.
    const shown = config.headers.map((it: Config) => ({ ...it, secret: false }));
    const changed = await api.send("PUT", path, {
      body: { config: { ...config, headers: shown } },
    });
    expect(changed.text).not.toContain("hidden");
  });

  test("are all answered with api.headers", async () => {
    const clear = await startApi({ headers: "clear" });
    expect((await create(clear)).body.destination.config.headers).toEqual(headers);
    await clear.stop();
  });
});

describe("secret parts of a URL", () => {
  const slack = "https://hooks.slack.com/services/T000/B000/hiddenhidden";
  const shownAs: [type: string, config: Config, shown: string][] = [
    ["webhook", { webhookUrl: slack }, "https://hooks.slack.com/***"],
    ["webhook", { webhookUrl: slack, secretUrl: false }, slack],
    [
      "webhook",
      {
        webhookUrl:
          "https://www.google-analytics.com/mp/collect?measurement_id=G-1&api_secret=hidden",
      },
      "https://www.google-analytics.com/mp/collect?measurement_id=G-1&api_secret=***",
    ],
    [
      "webhook",
      { webhookUrl: "https://a.test/x?To%6ben=hidden#f" },
      "https://a.test/x?To%6ben=***",
    ],
    ["webhook", { webhookUrl: "https://a.test/hidden?b=c", secretUrl: true }, "https://a.test/***"],
    [
      "webhook",
      { webhookUrl: "https://discord.com/api/webhooks/1/hidden" },
      "https://discord.com/***",
    ],
    ["webhook", { webhookUrl: "https://A.test/x?page=1" }, "https://A.test/x?page=1"],
    ["webhook", { webhookUrl: "https://hooks.slack.com" }, "https://hooks.slack.com"],
    [
      "clickhouse",
      { url: "https://a.test/?user=u&password=hidden" },
      "https://a.test/?user=u&password=***",
    ],
  ];

  test.each(shownAs)(
    "of %s %p are answered as %s, which sent back changes nothing",
    async (type, config, shown) => {
      const key = type === "webhook" ? "webhookUrl" : "url";
      const made = await api.send("POST", "/v2/destinations", {
        body: { name: "D", type, config },
      });
      const { id } = made.body.destination;
      const path = `/v2/destinations/${id}`;
      const stored = () => api.catalog.destinations.get(api.workspaceId, id).config[key];
      const read = await api.send("GET", path);
      const list = (await api.send("GET", "/v2/destinations")).text;
      if (config.secretUrl !== false)
        expect(made.text + read.text + list.replaceAll(slack, "")).not.toContain("=hidden");
      expect([made, read].map(({ body }) => body.destination.config[key])).toEqual([shown, shown]);

      const same = await api.send("PUT", path, { body: { config: read.body.destination.config } });
      expect([same.status, stored()]).toEqual([200, config[key]]);
      // Terraform sends the whole URL each time.
      expect((await api.send("PUT", path, { body: { config } })).status).toBe(200);
      expect(stored()).toBe(config[key]);
      if (shown === config[key]) return;
      for (const other of [
        `${shown}x`,
        shown.replace("https:", "http:"),
        "https://evil.test/***",
      ]) {
        const refused = await api.send("PUT", path, {
          body: { config: { ...config, [key]: other } },
        });
        expect([other, refused.status, refused.body.details[0].path]).toEqual([
          other,
          400,
          `/config/${key}`,
        ]);
      }
      expect(stored()).toBe(config[key]);
    },
  );

  test("of OAuth's token URL are hidden by the rule of the webhook's URL, and kept when sent back", async () => {
    const oauth = {
      tokenUrl: "https://a.test/token?tenant=t&api_key=hidden",
      clientId: "me",
      clientSecret: "s",
    };
    const config = { webhookUrl: "https://a.test/hook", oauth };
    const made = await api.send("POST", "/v2/destinations", {
      body: { name: "D", type: "webhook", config },
    });
    const { id, config: shown } = made.body.destination;
    const masked = "https://a.test/token?tenant=t&api_key=***";
    expect(shown.oauth).toEqual({ tokenUrl: masked, clientId: "me" });
    const path = `/v2/destinations/${id}`;
    const stored = () => api.catalog.destinations.get(api.workspaceId, id).config.oauth;
    const change = async (over: Config) => {
      return await api.send("PUT", path, {
        body: { config: { ...shown, oauth: { ...shown.oauth, ...over } } },
      });
    };
    expect((await change({ clientId: "you" })).status).toBe(200);
    expect(stored()).toEqual({ ...oauth, clientId: "you" });
    const refused = await change({ tokenUrl: `${masked}x` });
    expect([refused.status, refused.body.details[0].path]).toEqual([400, "/config/oauth/tokenUrl"]);
    const hide = await api.send("PUT", path, { body: { config: { ...shown, secretUrl: true } } });
    expect([hide.status, hide.text.includes("hidden")]).toEqual([400, false]);
    const whole = await api.send("PUT", path, { body: { config: { ...config, secretUrl: true } } });
    expect(whole.body.destination.config.oauth.tokenUrl).toBe("https://a.test/***");
  });

  test("are answered whole with api.headers", async () => {
    const clear = await startApi({ headers: "clear" });
    const oauth = { tokenUrl: "https://a.test/token?key=k", clientId: "me" };
    for (const [type, config] of [
      ["webhook", { webhookUrl: slack }],
      ["webhook", { webhookUrl: "https://a.test/hook", secretUrl: true, oauth }],
      ["clickhouse", { url: "https://a.test/?user=u&password=p" }],
    ] as const) {
      const sent =
        "oauth" in config ? { ...config, oauth: { ...oauth, clientSecret: "s" } } : config;
      const body = { name: "D", type, config: sent };
      const { destination } = (await clear.send("POST", "/v2/destinations", { body })).body;
      expect(destination.config).toMatchObject(config);
    }
    await clear.stop();
  });

  test("are hidden from the answer to the change that hides them", async () => {
    const body = { name: "D", type: "webhook", config: { webhookUrl: "https://a.test/hidden" } };
    const { id } = (await api.send("POST", "/v2/destinations", { body })).body.destination;
    const hide = { config: { ...body.config, secretUrl: true } };
    const hidden = await api.send("PUT", `/v2/destinations/${id}`, { body: hide });
    expect(hidden.body.destination.config.webhookUrl).toBe("https://a.test/***");
    // Who does not know the URL does not learn it by saying that it is no secret.
    const show = { config: { webhookUrl: "https://a.test/***", secretUrl: false } };
    const shown = await api.send("PUT", `/v2/destinations/${id}`, { body: show });
    expect([shown.status, shown.text.includes("hidden")]).toEqual([400, false]);
  });
});

/** Paths of the settings of a type that are no secrets. A list counts as a secret. */
function settings(schema: Config): string[] {
  return Object.entries(schema.properties as Record<string, Config>).flatMap(([key, value]) => {
    if (value.writeOnly || value.items !== undefined) return [];
    return value.type === "object" ? settings(value).map((path) => `${key}.${path}`) : [key];
  });
}

function paths(change: Config): string[] {
  return Object.entries(change).flatMap(([key, value]) =>
    key === "oauth" ? paths(value as Config).map((path) => `${key}.${path}`) : [key],
  );
}

/** A change with the secrets in it. */
function given({ config }: Case, change: Config): Config {
  return "oauth" in change
    ? { oauth: { ...(config.oauth as Config), ...(change.oauth as Config) } }
    : change;
}
