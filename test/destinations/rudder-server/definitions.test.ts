import { describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  builtInDestinations,
  builtInSources,
} from "../../../src/destinations/rudder-server/built-in-definitions.ts";
import { configForSource } from "../../../src/destinations/rudder-server/config-for-source.ts";
import {
  OPAQUE_CONFIG_BYTES_MAX,
  OPAQUE_SECRETS_MAX,
} from "../../../src/destinations/rudder-server/limits.ts";
import { opaqueForm } from "../../../src/destinations/rudder-server/opaque-config.ts";
import { readDefinitions } from "../../../src/destinations/rudder-server/read-definitions.ts";
import { StartError } from "../../../src/errors.ts";

/** Writes files below `src/configurations` of a fresh directory. */
async function checkout(files: Record<string, unknown>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-definitions-"));
  const all = { "sources/http/db-config.json": { name: "HTTP", type: "cloud" }, ...files };
  for (const [name, content] of Object.entries(all)) {
    const path = join(directory, "src", "configurations", name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  return directory;
}

/** The form of a definition in RudderStack's public repository. */
const redis = {
  name: "REDIS",
  displayName: "Redis",
  config: {
    transformAtV1: "processor",
    secretKeys: ["password"],
    destConfig: {
      defaultConfig: ["address"],
      web: ["connectionMode"],
      android: ["connectionMode"],
    },
  },
};
const path = "destinations/redis/db-config.json";

test("each built-in destination has settings for the type of each built-in source", () => {
  const types = new Set(builtInSources.map(({ type }) => type));
  expect(types.size).toBeGreaterThan(5);
  for (const { name, config } of builtInDestinations) {
    expect([name, [...types].filter((type) => !config.destConfig?.[type]?.length)]).toEqual([
      ...[name, []],
    ]);
  }
});

test("the built-in definitions have the secrets, the settings and the types of RudderStack's", () => {
  const storage = [
    ...["accessKeyID", "accessKey", "secretAccessKey"],
    ...["accountKey", "sasToken", "credentials", "sshPrivateKey"],
  ];
  const secrets = {
    WEBHOOK: ["headers.to"],
    HTTP: ["password", "bearerToken", "apiKeyValue", "headers.to"],
    S3: ["accessKeyID", "accessKey"],
    GCS: ["credentials"],
    MINIO: ["accessKeyID", "secretAccessKey"],
    KAFKA: ["password"],
    REDIS: ["password", "caCertificate"],
    POSTGRES: ["password", "clientKey", ...storage],
    CLICKHOUSE: ["password", ...storage],
    RS: ["password", ...storage],
    SNOWFLAKE: ["password", "privateKey", "privateKeyPassphrase", ...storage],
    BQ: storage,
  };
  const steps = { HTTP: "router", S3: "none", GCS: "none", MINIO: "none" };
  const more = {
    HTTP: { cdkV2Enabled: true },
    REDIS: { supportedMessageTypes: { cloud: ["identify"] } },
  };
  const keys = ["connectionMode", "consentManagement", "oneTrustCookieCategories"];
  const types = [
    ...["web", "android", "androidKotlin", "ios", "iosSwift", "unity", "amp", "cloud", "warehouse"],
    ...["reactnative", "flutter", "cordova", "shopify"],
  ];
  const destConfig = Object.fromEntries(types.map((type) => [type, keys]));
  expect(builtInDestinations.map(({ name, config }) => [name, config])).toEqual(
    Object.entries(secrets).map(([name, secretKeys]) => {
      const transformAtV1 = steps[name as keyof typeof steps] ?? "processor";
      const own = { transformAtV1, secretKeys, ...more[name as keyof typeof more] };
      return [name, { ...own, saveDestinationResponse: true, destConfig } as never];
    }),
  );
  const typeOf = {
    ...{ HTTP: "cloud", Javascript: "web", Android: "android", android_kotlin: "androidKotlin" },
    ...{ iOS: "ios", ios_swift: "iosSwift", ReactNative: "reactnative", Flutter: "flutter" },
    ...{ Cordova: "cordova", Unity: "unity", AMP: "amp", Go: "cloud", Java: "cloud" },
    ...{ Node: "cloud", PHP: "cloud", Python: "cloud", Ruby: "cloud", Rust: "cloud" },
    ".NET": "cloud",
  };
  expect(Object.fromEntries(builtInSources.map(({ name, type }) => [name, type]))).toEqual(typeOf);
});

test("the built-in warehouses are marked as such, so that rudder-server loads them in batches", () => {
  const marked = builtInDestinations.filter(({ category }) => category === "warehouse");
  expect(marked.map(({ name }) => name)).toEqual([
    ...["POSTGRES", "CLICKHOUSE", "RS", "SNOWFLAKE", "BQ"],
  ]);
});

test("definitions of a directory replace all types, and have the defaults of their schemas", async () => {
  const definitions = readDefinitions(
    await checkout({
      [path]: redis,
      "destinations/redis/schema.json": {
        configSchema: { properties: { clusterMode: { type: "boolean", default: true } } },
      },
      "destinations/empty/ui-config.json": {},
      "sources/javascript/db-config.json": { name: "Javascript", type: "web" },
    }),
  );
  expect(definitions.destinations().map(({ name }) => name)).toEqual(["REDIS"]);
  expect(definitions.destination("redis")).toMatchObject({
    displayName: "Redis",
    category: null,
    config: redis.config,
    defaults: { clusterMode: true },
  });
  expect(definitions.source("Javascript").type).toBe("web");
  expect(definitions.source("http").name).toBe("HTTP");
});

test("a source gets the values for its type, and defaults for absent settings", async () => {
  const definition = readDefinitions(await checkout({ [path]: redis })).destination("REDIS")!;
  const withDefaults = { ...definition, defaults: { address: "localhost", database: "0" } };
  const config = { address: "r.test", connectionMode: { web: "cloud", android: "device" } };
  const of = (type: string) => configForSource(withDefaults, config, type);
  expect(of("web")).toEqual({ address: "r.test", database: "0", connectionMode: "cloud" });
  expect(of("android").connectionMode).toBe("device");
  expect(of("cloud")).not.toHaveProperty("connectionMode");
  const plain = { connectionMode: { other: 1 } };
  expect(configForSource(definition, plain, "web")).toEqual(plain);
});

describe("a start ends with the name of the file", () => {
  const faults: [string, Record<string, unknown>, string][] = [
    ["that is no JSON", { [path]: "{" }, "Expected JSON in"],
    ["that is no object", { [path]: [] }, "Expected a JSON object in"],
    ["without a name", { [path]: { config: {} } }, "Expected name to be a text in"],
    ["without settings", { [path]: { name: "REDIS" } }, "Expected config to be an object in"],
    [
      "with secrets that are no texts",
      { [path]: { ...redis, config: { secretKeys: [1] } } },
      "Expected config.secretKeys to be a list of texts in",
    ],
    [
      "with wrong lists of settings",
      { [path]: { ...redis, config: { destConfig: { web: "all" } } } },
      "Expected config.destConfig to be an object of lists of texts in",
    ],
    [
      "of a type that another defines",
      { [path]: redis, "destinations/other/db-config.json": { ...redis, name: "redis" } },
      "Expected one definition of",
    ],
  ];
  test.each(faults)("%s", async (_, files, message) => {
    const directory = await checkout(files);
    const read = () => readDefinitions(directory);
    expect(read).toThrow(StartError);
    expect(read).toThrow(message);
    expect(read).toThrow(/db-config\.json/);
  });

  test("which a directory without definitions lacks", () => {
    expect(() => readDefinitions("/nowhere")).toThrow(
      "Cannot read the definitions of RudderStack in /nowhere/src/configurations/destinations: ENOENT",
    );
  });
});

describe("the form of a destination that rudder-server delivers", () => {
  const secretKeys = ["password", "headers.to", "oauth.client.secret", "password"];
  const form = opaqueForm({ ...redis, category: null, defaults: {}, config: { secretKeys } });

  test("has the secrets of its definition, each a whole setting or a key in a list", () => {
    expect(form.secretKeys.map(({ path }) => path)).toEqual(["password", "headers.to", "oauth"]);
    expect(form.configSchema.additionalProperties).toBe(true);
    const types = Object.entries(form.configSchema.properties as Record<string, { type?: string }>);
    expect(types.map(([key, { type }]) => [key, type])).toEqual([
      ...[
        ["password", "string"],
        ["headers", undefined],
        ["oauth", "string"],
      ],
    ]);
    expect(opaqueForm({ ...redis, category: null, defaults: {}, config: {} }).secretKeys).toEqual(
      [],
    );
  });

  test("refuses items that are no objects where keys of items are secret, and nowhere else", () => {
    const fault = [{ path: "/headers", message: "Expected objects as items, got another value" }];
    for (const items of [["abc"], [[{ to: "s" }]], [{ to: "s" }, null]]) {
      expect(form.validate!({ headers: items, oauth: items, urls: items })).toEqual(fault);
    }
    expect(form.validate!({ headers: [{ to: "s" }, {}], oauth: ["a"] })).toEqual([]);
  });

  test("lets a secret stay only while no setting that may name its receiver changes", () => {
    const [secret] = form.secretKeys;
    const config = { password: "p", headers: [{ to: "h" }], address: "a", port: 1 };
    const of = (more: object) => JSON.stringify(secret!.audiences({ ...config, ...more }));
    const before = of({});
    for (const same of [
      ...[{ password: "q" }, { headers: [] }, { oauth: "o" }, { address: "a" }],
      ...["blacklistedEvents", "connectionMode", "consentManagement", "eventDelivery"].map(given),
      ...["eventDeliveryTS", "eventFilteringOption", "excludeWindow", "jsonPaths"].map(given),
      ...["ketchConsentPurposes", "oneTrustCookieCategories", "preferAppend"].map(given),
      ...["skipTracksTable", "skipUsersTable", "syncFrequency", "syncStartAt"].map(given),
      ...["useNativeSDK", "whitelistedEvents"].map(given),
    ]) {
      expect([same, of(same)]).toEqual([same, before]);
    }
    for (const other of [{ address: "b" }, { port: undefined }, { host: "h" }]) {
      expect(of(other)).not.toBe(before);
    }
    const reversed = Object.fromEntries(Object.entries(config).reverse());
    expect(JSON.stringify(secret!.audiences(reversed))).toBe(before);
  });

  test("refuses a config of too many bytes, and a list of too many secrets", () => {
    const sized = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });
    expect(form.validate(sized(OPAQUE_CONFIG_BYTES_MAX))).toEqual([]);
    expect(form.validate(sized(OPAQUE_CONFIG_BYTES_MAX + 1))).toEqual([
      { path: "", message: `Expected at most ${OPAQUE_CONFIG_BYTES_MAX} bytes, got more` },
    ]);
    const listed = (key: string, length: number) => ({ [key]: Array(length).fill({}) });
    expect(form.validate(listed("headers", OPAQUE_SECRETS_MAX))).toEqual([]);
    expect(form.validate(listed("headers", OPAQUE_SECRETS_MAX + 1))).toEqual([
      { path: "/headers", message: `Expected at most ${OPAQUE_SECRETS_MAX} items, got more` },
    ]);
    expect(form.validate(listed("others", OPAQUE_SECRETS_MAX + 1))).toEqual([]);
    expect(form.validate({ headers: "x".repeat(OPAQUE_SECRETS_MAX + 1) })).toEqual([]);
  });
});

const given = (key: string) => ({ [key]: "given" });
