import type { DestinationDefinition, SourceDefinition } from "./definition.ts";

/** Types of sources that have settings of their own in destinations. */
const sourceTypes = [
  ...["web", "android", "ios", "unity", "amp", "cloud", "warehouse"],
  ...["reactnative", "flutter", "cordova", "shopify"],
];

/** Settings that every destination may have for each type of source. */
const perSource = ["connectionMode", "consentManagement", "oneTrustCookieCategories"];

const storageSecrets = [
  ...["accessKeyID", "accessKey", "secretAccessKey"],
  ...["accountKey", "sasToken", "credentials", "sshPrivateKey"],
];

/** Definitions that are known without a directory of definitions. */
export const builtInDestinations: readonly DestinationDefinition[] = [
  definition("WEBHOOK", "Webhook", "processor", ["headers.to"]),
  definition("HTTP", "HTTP Webhook", "processor", [
    ...["headers.to", "password", "bearerToken", "apiKeyValue"],
  ]),
  definition("S3", "Amazon S3", "none", ["accessKeyID", "accessKey"]),
  definition("GCS", "Google Cloud Storage", "none", ["credentials"]),
  definition("MINIO", "MinIO", "none", ["accessKeyID", "secretAccessKey"]),
  definition("KAFKA", "Apache Kafka", "processor", ["password", "sshPrivateKey"]),
  definition("REDIS", "Redis", "processor", ["password"]),
  warehouse("POSTGRES", "Postgres", ["password", "clientKey"]),
  warehouse("CLICKHOUSE", "ClickHouse", ["password"]),
  warehouse("RS", "Amazon Redshift", ["password"]),
  warehouse("SNOWFLAKE", "Snowflake", ["password", "privateKey", "privateKeyPassphrase"]),
  warehouse("BQ", "BigQuery", []),
];

export const builtInSources: readonly SourceDefinition[] = [
  source("HTTP", "cloud"),
  source("Javascript", "web"),
  source("Android", "android"),
  source("iOS", "ios"),
  source("ReactNative", "reactnative"),
  source("Flutter", "flutter"),
  source("Cordova", "cordova"),
  source("Unity", "unity"),
  source("AMP", "amp"),
  ...["Go", "Java", "Node", "PHP", "Python", "Ruby", "Rust", ".NET"].map((name) =>
    source(name, "cloud"),
  ),
];

function definition(
  name: string,
  displayName: string,
  transformAtV1: "processor" | "none",
  secretKeys: readonly string[],
): DestinationDefinition {
  const destConfig = Object.fromEntries(sourceTypes.map((type) => [type, perSource]));
  return {
    name,
    displayName,
    category: null,
    config: { transformAtV1, saveDestinationResponse: true, secretKeys, destConfig },
    defaults: {},
  };
}

function warehouse(name: string, displayName: string, secrets: string[]): DestinationDefinition {
  const secretKeys = [...secrets, ...storageSecrets];
  return { ...definition(name, displayName, "processor", secretKeys), category: "warehouse" };
}

function source(name: string, type: string): SourceDefinition {
  return { name, type, category: null };
}
