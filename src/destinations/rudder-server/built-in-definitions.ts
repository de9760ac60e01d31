import type { DefinitionConfig, DestinationDefinition, SourceDefinition } from "./definition.ts";

/** Types of sources. A destination may have separate settings for each type. */
const sourceTypes = [
  ...["web", "android", "androidKotlin", "ios", "iosSwift", "unity", "amp", "cloud", "warehouse"],
  ...["reactnative", "flutter", "cordova", "shopify"],
];

/**
 * Settings that exist in every type of destination. Each may have a separate value for each type of
 * source.
 */
const perSource = ["connectionMode", "consentManagement", "oneTrustCookieCategories"];

const storageSecrets = [
  ...["accessKeyID", "accessKey", "secretAccessKey"],
  ...["accountKey", "sasToken", "credentials", "sshPrivateKey"],
];

/** Destination definitions that are used if no directory of definitions is configured. */
export const builtInDestinations: readonly DestinationDefinition[] = [
  definition("WEBHOOK", "Webhook", ["headers.to"], { transformAtV1: "processor" }),
  definition("HTTP", "HTTP", ["password", "bearerToken", "apiKeyValue", "headers.to"], {
    transformAtV1: "router",
    cdkV2Enabled: true,
  }),
  definition("S3", "Amazon S3", ["accessKeyID", "accessKey"], { transformAtV1: "none" }),
  definition("GCS", "Google Cloud Storage", ["credentials"], { transformAtV1: "none" }),
  definition("MINIO", "MinIO", ["accessKeyID", "secretAccessKey"], { transformAtV1: "none" }),
  definition("KAFKA", "Apache Kafka", ["password"], { transformAtV1: "processor" }),
  definition("REDIS", "Redis", ["password", "caCertificate"], {
    transformAtV1: "processor",
    supportedMessageTypes: { cloud: ["identify"] },
  }),
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
  source("android_kotlin", "androidKotlin"),
  source("iOS", "ios"),
  source("ios_swift", "iosSwift"),
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
  secretKeys: readonly string[],
  config: DefinitionConfig,
): DestinationDefinition {
  const destConfig = Object.fromEntries(sourceTypes.map((type) => [type, perSource]));
  return {
    name,
    displayName,
    category: null,
    config: { ...config, saveDestinationResponse: true, secretKeys, destConfig },
    defaults: {},
  };
}

function warehouse(name: string, displayName: string, secrets: string[]): DestinationDefinition {
  const secretKeys = [...secrets, ...storageSecrets];
  const made = definition(name, displayName, secretKeys, { transformAtV1: "processor" });
  return { ...made, category: "warehouse" };
}

function source(name: string, type: string): SourceDefinition {
  return { name, type, category: null };
}
