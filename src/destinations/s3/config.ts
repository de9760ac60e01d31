import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { checkedUrl, EgressRefused } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import { GATHERED_BYTES_MAX, GATHERED_EVENTS_MAX, GATHERED_MS_MAX } from "../../settings/limits.ts";
import { oneOf, optionalFlag, optionalInteger } from "../../settings/schema-types.ts";
import { configFaults, egressFaults } from "../config-faults.ts";
import { essential, rudderstackKeys } from "../config-schema.ts";
import { S3_TIMEOUT_MS_DEFAULT, S3_TIMEOUT_MS_MAX } from "./limits.ts";

/** Default time, in milliseconds, for which events are collected for one object. */
const AGE_MS_DEFAULT = 60_000;

export const S3Config = Type.Object({
  ...rudderstackKeys,
  endpoint: essential(
    Type.String({
      minLength: 1,
      maxLength: 2_048,
      description:
        "URL of the store without a path, such as https://minio.example.com:9000; " +
        "by default Amazon's of the region",
    }),
  ),
  region: essential(
    Type.String({
      pattern: "^[a-z0-9-]{1,64}$",
      "x-expected": "1 to 64 lower-case letters, digits and hyphens",
      default: "us-east-1",
      description: "Region of the signature",
    }),
  ),
  bucket: Type.String({
    pattern: "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
    "x-expected":
      "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens, a letter or a digit at both ends",
    description: "It must exist",
  }),
  accessKeyId: Type.String({
    pattern: "^[\\x21-\\x2e\\x30-\\x7e]{1,256}$",
    "x-expected": "1 to 256 characters of ASCII without spaces and slashes",
  }),
  secretAccessKey: Type.String({ minLength: 1, maxLength: 1_024, description: "Write-only" }),
  prefix: essential(
    Type.String({
      pattern: "^[A-Za-z0-9_.=-]{1,255}(/[A-Za-z0-9_.=-]{1,255}){0,15}$",
      "x-expected": "letters, digits, `_`, `.`, `=`, `-` and single slashes between them",
      description: "Prefix of all keys, without a slash at either end",
    }),
  ),
  format: essential(oneOf(["jsonl.gz", "parquet"], { default: "jsonl.gz" })),
  pathStyle: optionalFlag(
    "Whether the bucket is in the path of URLs and not in their host; " +
      "by default when an endpoint is given",
  ),
  batchSize: optionalInteger(1, GATHERED_EVENTS_MAX, {
    default: GATHERED_EVENTS_MAX,
    description: "Max events per object",
  }),
  batchBytes: optionalInteger(1_024, GATHERED_BYTES_MAX, {
    default: GATHERED_BYTES_MAX,
    description: "Max bytes of JSON per object, before compression",
  }),
  batchAgeMs: optionalInteger(1, GATHERED_MS_MAX, {
    default: AGE_MS_DEFAULT,
    description: "Max time in milliseconds for which an event waits for others",
  }),
  timeoutMs: optionalInteger(1, S3_TIMEOUT_MS_MAX, {
    default: S3_TIMEOUT_MS_DEFAULT,
    description: "Total timeout of a request in milliseconds, from the DNS query to the last byte",
  }),
});
export type S3Config = Static<typeof S3Config>;

/** Returns all faults of a config. The path of a fault is a JSON pointer into the config. */
export function s3Faults(config: Record<string, unknown>): Detail[] {
  if (!Value.Check(S3Config, config)) return configFaults(S3Config, config);
  const { endpoint, prefix = "" } = config;
  if (prefix.split("/").some((name) => name === "." || name === "..")) {
    return [{ path: "/prefix", message: "Expected a prefix without . or .. as a name" }];
  }
  const faults = endpoint === undefined ? [] : endpointFaults(endpoint);
  if (faults.length > 0 || URL.canParse(bucketUrl(config))) return faults;
  const message = "Expected true, since an address cannot have the bucket's name in front of it";
  return [{ path: "/pathStyle", message }];
}

function endpointFaults(endpoint: string): Detail[] {
  return egressFaults("/endpoint", () => {
    const { pathname, search, hash } = checkedUrl(endpoint);
    if (pathname === "/" && search === "" && hash === "") return;
    throw new EgressRefused(
      "Expected a URL of a host, without a path: the bucket has a key of its own",
    );
  });
}

/** Returns the maximum size and age of one delivery. */
export function batchLimitsOf({ batchBytes, batchAgeMs }: S3Config) {
  return { bytes: batchBytes ?? GATHERED_BYTES_MAX, ageMs: batchAgeMs ?? AGE_MS_DEFAULT };
}

/** Returns the URL of the bucket, which ends with a slash. */
export function bucketUrl({ endpoint, region = "us-east-1", bucket, pathStyle }: S3Config): string {
  const { protocol, host } = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const inPath = pathStyle ?? endpoint !== undefined;
  return inPath ? `${protocol}//${host}/${bucket}/` : `${protocol}//${bucket}.${host}/`;
}
