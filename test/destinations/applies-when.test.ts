import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TObject } from "@sinclair/typebox";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { startApi, type TestApi } from "../api/_setup.ts";

type Config = Record<string, unknown>;
type Condition = Record<string, readonly unknown[] | "any">;

const kinds = [...destinationKinds({ directory: "unused", egress: createEgress({ allow: [] }) })];
/** Settings with a condition, of all kinds. */
const conditional = kinds.flatMap(([kind, { configSchema }]) =>
  Object.entries((configSchema as TObject).properties).flatMap(([key, schema]) => {
    const condition: Condition | undefined = schema["x-applies-when"];
    return condition === undefined
      ? []
      : [{ kind, key, condition, schema: configSchema as TObject }];
  }),
);

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

test("every setting that has an effect only beside others says so", () => {
  const found = Object.groupBy(conditional, ({ kind }) => kind);
  const keys = Object.entries(found).map(([kind, of = []]) => [kind, of.map(({ key }) => key)]);
  const tables = ["eventTables", "rawTable"];
  const certificates = ["tlsCa", "tlsServerName"];
  expect(Object.fromEntries(keys)).toEqual({
    webhook: ["batchSize", "secret", "gzip", "template", "batchTemplate"],
    file: ["keepFiles", "keepAgeMs"],
    postgres: [...certificates, ...tables],
    clickhouse: tables,
    kafka: ["password", "mechanism", ...certificates],
  });
});

test("a condition names settings without a condition and values that they can have", () => {
  for (const { kind, key, condition, schema } of conditional) {
    expect([kind, key, schema.required]).not.toEqual([kind, key, expect.arrayContaining([key])]);
    for (const [other, values] of Object.entries(condition)) {
      const property = schema.properties[other];
      expect([kind, other, property]).toEqual([kind, other, expect.anything()]);
      expect([kind, other, property?.["x-applies-when"]]).toEqual([kind, other, undefined]);
      if (values === "any") continue;
      const choices = property!.anyOf.map(({ const: choice }: { const: unknown }) => choice);
      expect([other, choices]).toEqual([other, expect.arrayContaining([...values])]);
    }
  }
});

test("the documentation of a kind names the condition beside the setting", async () => {
  for (const { kind, key, condition } of conditional) {
    const page = await Bun.file(`docs/destinations/${kind}.md`).text();
    const row = page.split("\n").find((line) => line.split("|")[1]?.includes(`\`${key}\``)) ?? "";
    for (const other of Object.keys(condition))
      expect([kind, row]).toEqual([kind, expect.stringContaining(`\`${other}\``)]);
  }
});

const hook = { webhookUrl: "https://hooks.test/in" };
const kafka = { brokers: "broker.test:9092", topic: "events" };
const database = { host: "db.test", database: "d", user: "u", password: "p" };
const withoutBody = "Expected none unless webhookMethod is POST, PUT, or PATCH";

test.each([
  ["webhook", { ...hook, webhookMethod: "GET", batchSize: 2 }, "batchSize", withoutBody],
  ["webhook", { ...hook, webhookMethod: "DELETE", secret: "signs" }, "secret", withoutBody],
  ["webhook", { ...hook, webhookMethod: "GET", gzip: true }, "gzip", withoutBody],
  ["webhook", { ...hook, webhookMethod: "GET", template: "{{event}}" }, "template", withoutBody],
  [
    "file",
    { path: "a.jsonl", keepFiles: 3 },
    "keepFiles",
    "Expected none unless format is parquet, rotateBytes is set, or rotateAgeMs is set",
  ],
  ["kafka", { ...kafka, password: "p" }, "password", "Expected none unless user is set"],
  ["kafka", { ...kafka, mechanism: "PLAIN" }, "mechanism", "Expected none unless user is set"],
  ["kafka", { ...kafka, tls: "off", tlsCa: "ca" }, "tlsCa", "Expected none unless tls is verify"],
  ["postgres", { ...database, rawTable: "r" }, "rawTable", "Expected none unless mode is raw"],
] as const)("a %s with %j is refused at %s", async (type, config, key, message) => {
  const body = { name: "D", type, config };
  const answer = await api.send("POST", "/v2/destinations", { body });
  expect(answer.status).toBe(400);
  expect(answer.body.details).toEqual([
    { path: `/config/${key}`, message: expect.stringContaining(`${message}, got a`) },
  ]);
});

test.each([
  ["webhook", { ...hook, webhookMethod: "GET", batchSize: 1, gzip: false }],
  ["file", { path: "a.parquet", format: "parquet", keepFiles: 3 }],
  ["file", { path: "a.jsonl", rotateAgeMs: 60_000, keepAgeMs: 60_000 }],
  ["kafka", { ...kafka, tlsCa: "ca", mechanism: "SCRAM-SHA-512" }],
  ["postgres", { ...database, mode: "raw", rawTable: "r", eventTables: false }],
] as const)("a %s with %j is taken", async (type, config) => {
  const answer = await api.send("POST", "/v2/destinations", { body: { name: "D", type, config } });
  expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
});

test("a stored secret that has no effect any more is removed, and can come back", async () => {
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name: "D", type: "webhook", config: { ...hook, secret: "signs" } },
  });
  const params = { id: destination.id };
  const put = async (config: Config) => {
    const answer = await api.client.call("PUT /v2/destinations/{id}", { params, body: { config } });
    return answer.destination.secretsSet;
  };
  expect(await put({ ...hook, webhookMethod: "PUT" })).toEqual(["/secret"]);
  expect(await put({ ...hook, webhookMethod: "GET" })).toEqual([]);
  expect(await put(hook)).toEqual([]);
  expect(await put({ ...hook, secret: "signs" })).toEqual(["/secret"]);
});
