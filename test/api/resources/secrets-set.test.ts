import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

type Config = Record<string, unknown>;
interface Schema extends Config {
  properties?: Record<string, Schema>;
  items?: Schema;
  writeOnly?: boolean;
  required?: string[];
}

const hook = "https://hooks.test/in";
/** A config of each kind with every secret of the kind. The word `hidden` is in each of them. */
const configs: Record<string, Config> = {
  webhook: {
    webhookUrl: hook,
    secret: "hidden-hidden-hidden-hidden-hidden",
    headers: [{ from: "X-Key", to: "hidden" }],
    oauth: { tokenUrl: "https://login.test/token", clientId: "id", clientSecret: "hidden" },
  },
  file: { path: "events.jsonl" },
  postgres: { host: "db.test", database: "d", user: "u", password: "hidden" },
  clickhouse: { url: "https://house.test:8443", password: "hidden" },
  s3: { bucket: "own", accessKeyId: "id", secretAccessKey: "hidden" },
  kafka: {
    ...{ brokers: "a.test:9092", topic: "t", user: "u", password: "hidden" },
    headers: [{ from: "X-Key", to: "hidden" }],
  },
};
/** Settings that have to be removed together with a secret. */
const togetherWith: Record<string, Config> = { "kafka/password": { user: null } };

/** JSON pointers to the secrets of a config whose lists have one item. */
function pointers(schema: Schema, path = ""): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    if (property.writeOnly) return [`${path}/${key}`];
    if (property.items) return pointers(property.items, `${path}/${key}/0`);
    return pointers(property, `${path}/${key}`);
  });
}

async function kinds(): Promise<{ type: string; config: Schema }[]> {
  const { destinationTypes } = (await api.send("GET", "/v2/destination-types")).body;
  return destinationTypes.filter((it: Config) => it.deliveredBy === "pixelmill");
}

async function create(of: TestApi, type: string, config: Config, more: Config = {}) {
  const body = { name: "D", type, config, ...more };
  const { destination } = (await of.send("POST", "/v2/destinations", { body })).body;
  const path = `/v2/destinations/${destination.id}`;
  return {
    destination,
    path,
    put: (changed: Config) => of.send("PUT", path, { body: { config: changed } }),
    stored: () => of.catalog.destinations.get(of.workspaceId, destination.id).config as Config,
  };
}

describe("the secrets of every kind of destination", () => {
  test("are listed as set, and stay set when a change leaves them out", async () => {
    for (const { type, config: schema } of await kinds()) {
      const expected = pointers(schema).sort();
      const config = configs[type]!;
      const { destination, path, put, stored } = await create(api, type, config);
      expect([type, [...destination.secretsSet].sort()]).toEqual([type, expected]);
      for (const request of [path, "/v2/destinations"]) {
        const answer = await api.send("GET", request);
        const shown = answer.body.destination ?? answer.body.destinations.at(-1);
        expect([type, shown]).toEqual([type, destination]);
        expect(answer.text).not.toContain("hidden");
      }
      const changed = await put(destination.config);
      expect([type, changed.status]).toEqual([type, 200]);
      expect([...changed.body.destination.secretsSet].sort()).toEqual(expected);
      expect(stored()).toEqual(config);
    }
  });

  test("are removed by null where they are optional, and refused where they are required", async () => {
    for (const { type, config: schema } of await kinds()) {
      for (const pointer of pointers(schema)) {
        const [, key = "", ...inner] = pointer.split("/");
        const { destination, put, stored } = await create(api, type, configs[type]!);
        const shown = { ...destination.config, ...togetherWith[type + pointer] };
        const { status, body, text } = await put({ ...shown, [key]: null });
        const isRequired = schema.required?.includes(key) === true;
        expect([type, pointer, status]).toEqual([type, pointer, isRequired ? 400 : 200]);
        expect(text).not.toContain("hidden");
        if (isRequired) {
          expect(body.details[0].path).toBe(`/config/${key}`);
          expect(stored()).toEqual(configs[type]!);
          continue;
        }
        expect(stored()[key]).toBeUndefined();
        const left = pointers(schema).filter((it) => it !== pointer);
        expect([...body.destination.secretsSet].sort()).toEqual(left.sort());
        // An absent secret that is not stored stays absent.
        const again = await put(body.destination.config);
        expect([again.status, again.body.destination.secretsSet.length]).toEqual([
          200,
          left.length,
        ]);
        if (inner.length === 0) expect(JSON.stringify(stored())).not.toContain(`"${key}"`);
      }
    }
  });

  test("are not listed where a disabled destination has none", async () => {
    for (const { type } of await kinds()) {
      const { destination } = await create(api, type, {}, { enabled: false });
      expect([type, destination.secretsSet]).toEqual([type, []]);
    }
  });
});

test("secrets in RudderStack's keys are listed in these keys", async () => {
  const config = { bucketName: "own", accessKeyID: "id", accessKey: "hidden" };
  const { destination, put } = await create(api, "S3", config);
  expect(destination.secretsSet).toEqual(["/accessKey"]);
  expect((await put(destination.config)).body.destination.secretsSet).toEqual(["/accessKey"]);
});

describe("headers", () => {
  const headers = [
    { from: "X-Plan", to: "pro" },
    { from: "X-Api-Key", to: "" },
    { from: "X-Api-Key", to: "hidden" },
    { from: "X-Team", to: "hidden", secret: true },
  ];

  test("are listed when they have a secret value, also where their values are answered", async () => {
    const masked = await create(api, "webhook", { webhookUrl: hook, headers });
    expect(masked.destination.secretsSet).toEqual(["/headers/2/to", "/headers/3/to"]);
    const clear = await startApi({ headers: "clear" });
    const { destination } = await create(clear, "webhook", { webhookUrl: hook, headers });
    expect(destination.config.headers).toEqual(headers);
    expect(destination.secretsSet).toEqual(["/headers/2/to", "/headers/3/to"]);
    await clear.stop();
  });

  test("keep their secret when their fields are sent in another order", async () => {
    const header = { from: "X-Team", to: "hidden", secret: true };
    const { put, stored } = await create(api, "webhook", { webhookUrl: hook, headers: [header] });
    const sent = { secret: true, to: "", from: "X-Team" };
    const { body } = await put({ webhookUrl: hook, headers: [sent] });
    expect(body.destination.secretsSet).toEqual(["/headers/0/to"]);
    expect(stored().headers).toEqual([header]);
  });
});
