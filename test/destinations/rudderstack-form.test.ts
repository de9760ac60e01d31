import { expect, test } from "bun:test";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { kafkaRudderstackKeys } from "../../src/destinations/kafka/rudderstack-keys.ts";
import { postgresRudderstackKeys } from "../../src/destinations/postgres/rudderstack-keys.ts";
import { withRudderstackKeys } from "../../src/destinations/rudderstack-form.ts";
import { s3RudderstackKeys } from "../../src/destinations/s3/rudderstack-keys.ts";
import { createEgress } from "../../src/egress/egress.ts";

const kinds = destinationKinds({ directory: "/none", egress: createEgress({ allow: [] }) });
const keys = {
  s3: s3RudderstackKeys,
  postgres: postgresRudderstackKeys,
  kafka: kafkaRudderstackKeys,
};

/** The config in the kind's own keys, as the kind gets it. */
function opened(type: keyof typeof keys, config: Record<string, unknown>): unknown {
  let given: unknown;
  const kind: DestinationKind = {
    ...kinds.get(type)!,
    open(config) {
      given = config;
      return { deliver: async () => ({ kind: "delivered" }), async close() {} };
    },
  };
  withRudderstackKeys(kind, keys[type]).open(config, "w");
  return given;
}

const s3 = { bucketName: "own", accessKeyID: "id", accessKey: "secret" };
const ownS3 = { bucket: "own", accessKeyId: "id", secretAccessKey: "secret" };
const login = { host: "db.test", database: "d", user: "u", password: "p" };
const kafka = { hostName: "a.test, b.test:9093", port: "9092", topic: "t" };
const ownKafka = { brokers: "a.test:9092,b.test:9093", topic: "t" };

const cases: [type: keyof typeof keys, sent: Record<string, unknown>, own: object][] = [
  ["s3", s3, ownS3],
  [
    "s3",
    { ...s3, prefix: "rudder/", roleBasedAuth: false, enableSSE: false },
    { ...ownS3, prefix: "rudder" },
  ],
  [
    "s3",
    { ...s3, prefix: "", endpoint: "https://minio.test", batchAgeMs: 5 },
    { ...ownS3, endpoint: "https://minio.test", batchAgeMs: 5 },
  ],
  ["s3", ownS3, ownS3],
  [
    "postgres",
    { ...login, port: "5433", sslMode: "disable", syncFrequency: "30", useRudderStorage: true },
    { ...login, port: 5433, tls: "off" },
  ],
  [
    "postgres",
    { ...login, namespace: "n", sslMode: "verify-ca", serverCA: "ca", batchSize: 5 },
    { ...login, schema: "n", tls: "verify", tlsCa: "ca", batchSize: 5 },
  ],
  ["postgres", { ...login, namespace: "", sslMode: "require" }, { ...login, tls: "verify" }],
  ["postgres", { ...login, port: 5433, tls: "off" }, { ...login, port: 5433, tls: "off" }],
  [
    "kafka",
    { ...kafka, sslEnabled: true, caCertificate: "ca", saslType: "plain" },
    { ...ownKafka, tls: "verify", tlsCa: "ca" },
  ],
  [
    "kafka",
    { ...kafka, useSASL: false, username: "u", password: "p" },
    { ...ownKafka, tls: "off" },
  ],
  [
    "kafka",
    { ...kafka, useSASL: true, sslEnabled: true, username: "u", password: "p" },
    { ...ownKafka, tls: "verify", user: "u", password: "p", mechanism: "PLAIN" },
  ],
  [
    "kafka",
    { ...kafka, useSASL: true, saslType: "sha512", username: "u", password: "p" },
    { ...ownKafka, tls: "off", user: "u", password: "p", mechanism: "SCRAM-SHA-512" },
  ],
];
test.each(cases)(
  "a config of %s in RudderStack's keys is used as its own: %p",
  (type, sent, own) => {
    expect(opened(type, sent)).toEqual(own);
    expect(kinds.get(type)!.validate(sent)).toEqual([]);
  },
);

const refused: [
  type: keyof typeof keys,
  sent: Record<string, unknown>,
  path: string,
  message: string,
][] = [
  [
    "s3",
    { bucketName: "Own", accessKeyID: "id", accessKey: "s" },
    "/bucketName",
    "Expected the name of a bucket",
  ],
  ["s3", { bucketName: "own" }, "/accessKeyID", "Expected 1 to 256 characters"],
  [
    "s3",
    { ...s3, roleBasedAuth: true, iamRoleARN: "arn" },
    "/roleBasedAuth",
    "Expected false: pixelmill signs in with access keys",
  ],
  ["postgres", { ...login, port: "test-port" }, "/port", "Expected an integer from 1 to 65535"],
  [
    "postgres",
    { ...login, sslMode: "prefer" },
    "/sslMode",
    "Expected one of disable, require, verify-ca",
  ],
  ["postgres", { ...login, sslMode: "disable", useSSH: true }, "/useSSH", "Expected false"],
  ["postgres", { ...login, host: "a.test:1", sslMode: "disable" }, "/host", "without a port"],
  [
    "postgres",
    { ...login, sslMode: "verify-ca", clientCert: "c", clientKey: "k" },
    "/clientCert",
    "Expected none",
  ],
  ["kafka", { ...kafka, port: "x" }, "/hostName", "Expected host:port"],
  [
    "kafka",
    { ...kafka, convertToAvro: true },
    "/convertToAvro",
    "Expected false: pixelmill writes JSON",
  ],
  ["kafka", { ...kafka, enableMultiTopic: true }, "/enableMultiTopic", "Expected false"],
  [
    "kafka",
    { ...kafka, saslType: "x", useSASL: true },
    "/saslType",
    "Expected one of plain, sha256, sha512",
  ],
  [
    "kafka",
    { ...kafka, useSASL: true, username: "u", password: "p" },
    "/saslType",
    "Expected SCRAM where TLS is off",
  ],
];
refused.push(
  ...(
    [
      ["s3", { ...s3, accessKey: 7 }, "/accessKey"],
      ["postgres", { ...login, namespace: 7, sslMode: "require" }, "/namespace"],
      ["postgres", { ...login, serverCA: 7, sslMode: "verify-ca" }, "/serverCA"],
      ["kafka", { ...kafka, caCertificate: 7, sslEnabled: true }, "/caCertificate"],
      ["kafka", { ...kafka, useSASL: true, username: 7, password: "p" }, "/username"],
      ["kafka", { ...kafka, useSASL: true, username: "u", password: 7 }, "/password"],
      ["kafka", { ...kafka, hostName: 7 }, "/hostName"],
      ["kafka", { ...kafka, useSSH: true }, "/useSSH"],
    ] as const
  ).map(([type, sent, path]): (typeof refused)[number] => [type, sent, path, "Expected"]),
);
test.each(refused)(
  "a config of %s in RudderStack's keys is refused: %p at %s",
  (type, sent, path, message) => {
    const [fault] = kinds.get(type)!.validate(sent);
    expect([fault?.path, fault?.message]).toEqual([path, expect.stringContaining(message)]);
  },
);

test("an endpoint says where events go, without secrets, in both forms of a config", () => {
  const endpoints: [type: string, config: Record<string, unknown>, endpoint: string | undefined][] =
    [
      ["webhook", { webhookUrl: "https://a.test/in?token=abc" }, "https://a.test/in?token=***"],
      ["webhook", { webhookUrl: "https://a.test/in", secretUrl: true }, "https://a.test/***"],
      ["s3", ownS3, "s3://own"],
      ["s3", { ...s3, prefix: "rudder/" }, "s3://own/rudder"],
      ["s3", { ...ownS3, endpoint: "https://minio.test" }, "https://minio.test/own"],
      ["kafka", ownKafka, "kafka://a.test:9092,b.test:9093/t"],
      ["kafka", kafka, "kafka://a.test:9092,b.test:9093/t"],
      ["postgres", login, "postgres://db.test:5432/d"],
      ["postgres", { ...login, port: "5433", sslMode: "disable" }, "postgres://db.test:5433/d"],
      ["clickhouse", { url: "https://ch.test/", database: "d" }, "https://ch.test, d"],
      ["file", { path: "events.jsonl" }, "events.jsonl"],
      // A disabled destination may lack settings.
      ...[...kinds.keys()].map((type): [string, object, undefined] => [type, {}, undefined]),
    ] as never;
  for (const [type, config, endpoint] of endpoints) {
    expect([type, kinds.get(type)!.endpoint!(config)]).toEqual([type, endpoint]);
  }
});

test("the keys that RudderStack's clients send are those of its own destinations", () => {
  expect(Object.keys(keys.postgres.schemas).sort()).toEqual([
    ...["accessKey", "accessKeyID", "accountKey", "accountName", "allowUsersContextTraits"],
    ...["bucketName", "bucketProvider", "cleanupObjectStorageFiles", "clientCert", "clientKey"],
    ...["containerName", "credentials", "endPoint", "excludeWindow", "iamRoleARN", "jsonPaths"],
    ...["namespace", "port", "preferAppend", "roleBasedAuth", "sasToken", "secretAccessKey"],
    ...["serverCA", "skipTracksTable", "skipUsersTable", "sshHost", "sshPort", "sshPublicKey"],
    ...["sshUser", "sslMode", "syncFrequency", "syncStartAt", "underscoreDivideNumbers"],
    ...["useRudderStorage", "useSASTokens", "useSSH", "useSSL"],
  ]);
  expect(Object.keys(keys.kafka.schemas).sort()).toEqual([
    ...["avroSchema", "avroSchemas", "caCertificate", "convertToAvro", "embedAvroSchemaID"],
    ...["enableMultiTopic", "eventToTopicMap", "eventTypeToTopicMap", "hostName", "port"],
    ...["saslType", "sshHost", "sshPort", "sshPublicKey", "sshUser", "sslEnabled", "useSASL"],
    ...["useSSH", "username"],
  ]);
});

test("secrets of staging files are stored and never shown", () => {
  const form = kinds.get("postgres")!.formOf!({ ...login, namespace: "n" })!;
  expect(form.secretKeys.map(({ path }) => path)).toEqual([
    ...["password", "accessKeyID", "accessKey", "accountKey", "sasToken", "secretAccessKey"],
    ...["credentials", "clientKey"],
  ]);
});

test("a config with RudderStack's keys is translated once, however often it is used", () => {
  let translations = 0;
  const translate = (config: Record<string, unknown>) => {
    translations++;
    return s3RudderstackKeys.translate(config);
  };
  const kind = withRudderstackKeys(kinds.get("s3")!, { ...s3RudderstackKeys, translate });
  const config = { ...s3, batchSize: 7 };
  for (let use = 0; use < 3; use++) {
    expect(kind.batchSize(config)).toBe(7);
    expect(kind.batchLimits?.(config)).toEqual({ bytes: expect.any(Number), ageMs: 60_000 });
  }
  expect(translations).toBe(1);
});
