import { expect, test } from "bun:test";
import type { TObject, TSchema } from "@sinclair/typebox";
import { conditionText } from "../../src/destinations/applies-when.ts";
import { rudderstackKeys } from "../../src/destinations/config-schema.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { FILE_BATCH_EVENTS_MAX } from "../../src/destinations/file/limits.ts";
import { DATABASE_BATCH_EVENTS_MAX } from "../../src/destinations/limits.ts";
import { createEgress } from "../../src/egress/egress.ts";
import {
  DELIVERY_BYTES_MAX,
  GATHERED_BYTES_MAX,
  GATHERED_EVENTS_MAX,
  GATHERED_MS_MAX,
  LANE_DELIVERIES_MAX,
} from "../../src/settings/limits.ts";

const kinds = destinationKinds({ directory: "/none", egress: createEgress({ allow: [] }) });

/** Describes the values that a setting can have, its default, and when it has an effect. */
function described(schema: TSchema): string {
  const { default: value, "x-applies-when": condition } = schema;
  const otherwise = value === undefined ? "" : `, else ${value}`;
  return `${valuesOf(schema)}${otherwise}${condition ? `, if ${conditionText(condition)}` : ""}`;
}

function valuesOf(schema: TSchema): string {
  const { type, anyOf, minimum, maximum, minLength = 0, maxLength, maxItems, items } = schema;
  if (anyOf) return anyOf.map(({ const: choice }: TSchema) => choice).join("|");
  if (type === "integer") return `${minimum} to ${maximum}`;
  if (type === "boolean") return "flag";
  if (type === "array") return `at most ${maxItems} of ${valuesOf(items)}`;
  if (type === "object") return JSON.stringify(settingsOf(schema as TObject));
  return maxLength === undefined ? "pattern" : `text of ${minLength} to ${maxLength}`;
}

/** Lists the settings of a schema: a required one has `!`, and one that most users need `*`. */
function settingsOf({ properties, required = [] }: TObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([key]) => !(key in rudderstackKeys))
      .map(([key, schema]) => {
        const mark = required.includes(key) ? "!" : schema["x-essential"] ? "*" : "";
        return [`${key}${mark}`, described(schema)];
      }),
  );
}

const text = "text of 1 to 1024";
const withBody = "if webhookMethod is POST, PUT, or PATCH";
const several = "if format is parquet, rotateBytes is set, or rotateAgeMs is set";
const database = { batchSize: "1 to 1000, else 1000", timeoutMs: "1 to 120000, else 30000" };
const tls = {
  "tls*": "verify|off, else verify",
  tlsCa: "text of 1 to 65536, if tls is verify",
  tlsServerName: `${text}, if tls is verify`,
};
const tables = {
  mode: "columns|raw, else columns",
  eventTables: "flag, else false, if mode is columns",
  rawTable: "pattern, else events, if mode is raw",
};
const oauthText = "text of 1 to 2048";
const kafkaHeader = { "from!": "text of 1 to 128", "to!": "text of 0 to 4096" };
const settings: Record<string, Record<string, string>> = {
  webhook: {
    "webhookUrl!": "text of 1 to 2048",
    secretUrl: "flag",
    "webhookMethod*": "POST|PUT|PATCH|GET|DELETE, else POST",
    "headers*": `at most 50 of ${JSON.stringify({ ...kafkaHeader, secret: "flag" })}`,
    batchSize: `1 to 1000, else 1, ${withBody}`,
    timeoutMs: "1 to 60000, else 10000",
    "secret*": `text of 1 to 256, ${withBody}`,
    gzip: `flag, ${withBody}`,
    template: `text of 1 to 16384, ${withBody}`,
    batchTemplate: `text of 1 to 16384, ${withBody}`,
    oauth: JSON.stringify({
      ...{ "tokenUrl!": oauthText, "clientId!": oauthText, "clientSecret!": oauthText },
      ...{ scope: oauthText, audience: oauthText, authStyle: "basic|post, else basic" },
    }),
  },
  file: {
    "path!": text,
    "format*": "jsonl|parquet, else jsonl",
    rotateBytes: "1024 to 1099511627776",
    rotateAgeMs: "1 to 604800000",
    keepFiles: `1 to 100000, ${several}`,
    keepAgeMs: `1 to 315360000000, ${several}`,
  },
  postgres: {
    ...{ "host!": text, "port*": "1 to 65535, else 5432", "database!": text, "user!": text },
    ...{ "password!": text, "schema*": "pattern, else public", ...tls, ...database, ...tables },
  },
  clickhouse: {
    ...{ "url!": text, "database*": "pattern, else default", "user*": "pattern, else default" },
    ...{ "password*": "pattern", tlsCa: "text of 1 to 65536", tlsServerName: text },
    ...{ ...database, ...tables },
  },
  s3: {
    ...{ "endpoint*": "text of 1 to 2048", "region*": "pattern, else us-east-1" },
    ...{ "bucket!": "pattern", "accessKeyId!": "pattern", "secretAccessKey!": text },
    ...{ "prefix*": "pattern", "format*": "jsonl.gz|parquet, else jsonl.gz", pathStyle: "flag" },
    batchSize: `1 to ${GATHERED_EVENTS_MAX}, else ${GATHERED_EVENTS_MAX}`,
    batchBytes: `1024 to ${GATHERED_BYTES_MAX}, else ${GATHERED_BYTES_MAX}`,
    batchAgeMs: `1 to ${GATHERED_MS_MAX}, else 60000`,
    timeoutMs: "1 to 300000, else 60000",
  },
  kafka: {
    ...{ "brokers!": text, "topic!": "pattern", createTopics: "flag, else false", "user*": text },
    "password*": `${text}, if user is set`,
    "mechanism*": "SCRAM-SHA-512|SCRAM-SHA-256|PLAIN, else SCRAM-SHA-512, if user is set",
    headers: `at most 50 of ${JSON.stringify(kafkaHeader)}`,
    ...{ compression: "none|gzip, else none", ...tls, ...database },
  },
};

test.each([...kinds])("the settings of %s have these bounds and defaults", (name, kind) => {
  expect(settingsOf(kind.configSchema as TObject)).toEqual(settings[name]!);
});

const login = { host: "DB.test", database: "d", user: "u", password: "p" };
const brokers = "A.test:9092,[::1]:9093";
const oauth = { tokenUrl: "https://Token.test:8443/t", clientId: "i", clientSecret: "s" };
const webhook = { webhookUrl: "http://H.test/in", oauth };
const hook = { host: "h.test:80", isTls: false };
const kafkaCertificates = ['["a.test","ca"]', '["::1","ca"]'];
const kafkaHosts = ["a.test:9092", "::1:9093"];
const receivers: [kind: string, config: object, path: string, audiences: object[]][] = [
  ["webhook", webhook, "secret", [hook]],
  ["webhook", webhook, "headers.to", [hook]],
  [
    ...(["webhook", webhook, "oauth.clientSecret"] as const),
    [hook, { host: "token.test:8443", isTls: true, use: "token" }],
  ],
  [
    ...(["postgres", login, "password"] as const),
    [{ host: "db.test:5432", isTls: true, certificate: '["db.test",""]' }],
  ],
  [
    ...(["postgres", { ...login, port: 5433, tls: "off" }, "password"] as const),
    [{ host: "db.test:5433", isTls: false, certificate: '["db.test",""]' }],
  ],
  [
    ...(["postgres", { ...login, port: "5433", sslMode: "disable" }, "password"] as const),
    [{ host: "db.test:5433", isTls: false, certificate: '["db.test",""]' }],
  ],
  ["postgres", { ...login, namespace: "n", clientKey: "k" }, "clientKey", []],
  [
    ...(["clickhouse", { url: "https://CH.test:8443", tlsCa: "ca" }, "password"] as const),
    [{ host: "ch.test:8443", isTls: true, certificate: '["ch.test","ca"]' }],
  ],
  ...(["password", "headers.to"] as const).map((path): (typeof receivers)[number] => [
    ...(["kafka", { brokers, topic: "t", tlsCa: "ca" }, path] as const),
    kafkaHosts.map((host, n) => ({ host, isTls: true, certificate: kafkaCertificates[n]! })),
  ]),
  [
    ...(["kafka", { hostName: "a.test", port: 9092, topic: "t" }, "password"] as const),
    [{ host: "a.test:9092", isTls: false, certificate: '["a.test",""]' }],
  ],
];
test.each(receivers)("a %s with %j sends its %s to these servers", (name, config, path, all) => {
  const kind = kinds.get(name)!;
  const given = config as Record<string, unknown>;
  const { secretKeys } = kind.formOf?.(given) ?? kind;
  expect(secretKeys.find((it) => it.path === path)!.audiences(given)).toEqual(all as never);
});

test("each kind names the keys of its secrets, and of the URLs that hold some", () => {
  const keys = [...kinds].map(([name, { secretKeys, maskedKeys = [] }]) => [
    ...[name, secretKeys.map(({ path }) => path), maskedKeys.map(({ path }) => path)],
  ]);
  expect(keys).toEqual([
    [
      ...["webhook", ["secret", "headers.to", "oauth.clientSecret"]],
      ["webhookUrl", "oauth.tokenUrl"],
    ],
    ["file", [], []],
    ["postgres", ["password"], []],
    ["clickhouse", ["password"], ["url"]],
    ["s3", ["secretAccessKey"], []],
    ["kafka", ["password", "headers.to"], []],
  ]);
});

test("the URLs of a config are shown without their secret parts", () => {
  const shown = (name: string, config: object) =>
    kinds.get(name)!.maskedKeys!.map((key) => key.shown(config as Record<string, unknown>));
  const urls = {
    webhookUrl: "https://h.test/in?token=a",
    oauth: { tokenUrl: "https://t.test/?key=b" },
  };
  expect(shown("webhook", urls)).toEqual([
    ...["https://h.test/in?token=***", "https://t.test/?key=***"],
  ]);
  expect(shown("webhook", { ...urls, secretUrl: true })).toEqual([
    ...["https://h.test/***", "https://t.test/***"],
  ]);
  expect(shown("clickhouse", { url: "https://c.test/?password=a" })).toEqual([
    "https://c.test/?password=***",
  ]);
});

test("each kind has its sizes of batches, and one delivery at a time except webhooks", () => {
  const of = (name: string, config: object) => {
    const { batchSize, batchLimits, concurrency } = kinds.get(name)!;
    const given = config as Record<string, unknown>;
    return [batchSize(given), concurrency, batchLimits?.(given)];
  };
  const atOnce = { bytes: DELIVERY_BYTES_MAX, ageMs: 0 };
  expect(of("webhook", {})).toEqual([1, LANE_DELIVERIES_MAX, undefined]);
  expect(of("webhook", { batchSize: 7 })[0]).toBe(7);
  for (const name of ["postgres", "clickhouse", "kafka"]) {
    expect(of(name, {})).toEqual([DATABASE_BATCH_EVENTS_MAX, 1, undefined]);
    expect(of(name, { batchSize: 7 })[0]).toBe(7);
  }
  expect(of("file", {})).toEqual([FILE_BATCH_EVENTS_MAX, 1, atOnce]);
  expect(of("file", { rotateBytes: 5_000, rotateAgeMs: 9 })[2]).toEqual(atOnce);
  const parquet = { format: "parquet" };
  expect(of("file", parquet)).toEqual([
    ...[GATHERED_EVENTS_MAX, 1, { bytes: GATHERED_BYTES_MAX, ageMs: 60_000 }],
  ]);
  expect(of("file", { ...parquet, rotateBytes: 5_000, rotateAgeMs: 9 })[2]).toEqual({
    ...{ bytes: 5_000, ageMs: 9 },
  });
  expect(of("file", { ...parquet, rotateBytes: 2 ** 40 })[2]).toEqual({
    ...{ bytes: GATHERED_BYTES_MAX, ageMs: 60_000 },
  });
});

const longName = "é".repeat(90);
test.each([
  [{ path: "a/b.c/d" }, []],
  [{ path: "" }, ["/path: a string of 0 characters"]],
  [{ path: 7 }, ["/path: a number"]],
  [{}, ["/path: nothing"]],
  [{ path: "/a" }, ["/path: an absolute path"]],
  [{ path: "a//b" }, ["/path: another path"]],
  [{ path: "a/" }, ["/path: another path"]],
  [{ path: "./a" }, ["/path: another path"]],
  [{ path: "a/../b" }, ["/path: another path"]],
  [{ path: "a\\b" }, ["/path: another path"]],
  [{ path: "a\x7f" }, ["/path: another path"]],
  [{ path: "a\x1f" }, ["/path: another path"]],
  [{ path: `${"é".repeat(127)}a/b` }, []],
  [{ path: `${"é".repeat(128)}/b` }, ["/path: another path"]],
  [{ path: "x".repeat(1_025) }, ["/path: another path"]],
  [{ path: `${longName}x` }, []],
  [{ path: longName, format: "parquet" }, []],
  [{ path: `${longName}x`, format: "parquet" }, ["/path"]],
  [{ path: `${longName}x`, rotateBytes: 5_000 }, ["/path"]],
  [{ path: `${longName}x`, rotateAgeMs: 5_000 }, ["/path"]],
  [{ path: `${longName}x/b`, rotateAgeMs: 5_000 }, []],
  [{ path: "a", format: "parquet", rotateAgeMs: GATHERED_MS_MAX }, []],
  [{ path: "a", format: "parquet", rotateAgeMs: GATHERED_MS_MAX + 1 }, ["/rotateAgeMs"]],
  [{ path: "a", rotateAgeMs: GATHERED_MS_MAX + 1 }, []],
  [{ path: "/a", rotateBytes: 1 }, ["/path: an absolute path", "/rotateBytes: a number"]],
] as [Record<string, unknown>, string[]][])(
  "a file destination of %j has the faults %j",
  (config, faults) => {
    const found = kinds.get("file")!.validate(config);
    expect(found.map(({ path, message }) => [path, message.split(", got ")[1]])).toEqual(
      faults.map((fault) => {
        const [path = "", got] = fault.split(": ");
        return [path, got];
      }),
    );
  },
);

const noHost = "Expected a host name or an address, without a port";
test.each([
  [{ host: "db.test" }, []],
  [{ host: "[::1]" }, []],
  [{ host: "db.test:5432" }, [noHost]],
  [{ host: "postgres://db.test" }, [noHost]],
  [{ host: "/run/postgresql" }, [noHost]],
  [{ host: "" }, [expect.stringContaining("got a string of 0 characters")]],
  [{ host: undefined }, [expect.stringContaining("got nothing")]],
  // A disabled destination may lack the user.
  [{ host: "db.test:5432", user: undefined }, [noHost]],
])("a postgres destination with %j has these faults of its host", (more, messages) => {
  const found = kinds.get("postgres")!.validate({ ...login, ...more });
  const ofHost = found.filter(({ path }) => path === "/host");
  expect(ofHost.map(({ message }) => message)).toEqual(messages);
});
