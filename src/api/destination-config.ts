import type { TSchema } from "@sinclair/typebox";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Detail } from "../errors.ts";
import { DETAILS_MAX } from "../limits.ts";
import { misspelt } from "../misspelt.ts";
import { type Config, isObject, movedFaults, secretsOf, withKept } from "./kept-secrets.ts";
import { invalid } from "./request-validation.ts";

/** Longest unknown key for which a similar known key is looked for. */
const LIKE_KEY_CHARS_MAX = 100;

/**
 * The config to store: without nulls, with the stored secrets where the caller leaves them out, and
 * valid. A secret that would be sent to another place is not kept, for who changes a destination
 * need not know its secrets.
 */
export function settledConfig(kind: DestinationKind, sent: Config, before: Config): Config {
  const { config, kept } = withKept(kind, sent, before);
  const faults = faultsOf(kind, config);
  if (faults.length === 0) faults.push(...movedFaults(kept, config, before));
  const [fault, ...more] = faults.map((it) => ({ ...it, path: `/config${it.path}` }));
  if (fault) throw invalid([fault, ...more]);
  return config;
}

/**
 * The config as it is shown: the known keys without secrets; a secret inside a list is shown as an
 * empty text.
 */
export function shownConfig(kind: DestinationKind, config: Config): Config {
  const shown: Config = {};
  for (const key in kind.configSchema.properties) {
    if (config[key] !== undefined) shown[key] = config[key];
  }
  for (const { key, inner } of secretsOf(kind)) {
    if (inner === undefined) delete shown[key];
    else if (Array.isArray(shown[key])) {
      shown[key] = shown[key].map((item: Config) => ({ ...item, [inner]: "" }));
    } else if (isObject(shown[key])) {
      const { [inner]: _, ...rest } = shown[key];
      shown[key] = rest;
    }
  }
  return shown;
}

/** The schema of a config, whose secrets are marked as `writeOnly`. */
export function markedSchema(kind: DestinationKind): TSchema {
  const schema: TSchema = structuredClone(kind.configSchema);
  for (const { key, inner } of secretsOf(kind)) {
    const property = schema.properties?.[key];
    const holder = property?.items ?? property;
    const secret = inner === undefined ? property : holder?.properties?.[inner];
    if (secret !== undefined) secret.writeOnly = true;
  }
  return schema;
}

function faultsOf(kind: DestinationKind, config: Config): Detail[] {
  const unknown = unknownKeys(kind.configSchema, config, "").take(DETAILS_MAX);
  return [...unknown, ...kind.validate(config)].slice(0, DETAILS_MAX);
}

/**
 * Keys that the schema does not have, such as a misspelt `secret`, without which a webhook would
 * not be signed. The value is never repeated in the error, for it may be a secret.
 */
function* unknownKeys(schema: TSchema, value: unknown, path: string): Generator<Detail> {
  if (Array.isArray(value) && schema.type === "array") {
    for (const [index, item] of value.entries()) {
      yield* unknownKeys(schema.items, item, `${path}/${index}`);
    }
  }
  if (!isObject(value) || schema.type !== "object" || schema.properties === undefined) return;
  const known = Object.keys(schema.properties);
  for (const key in value) {
    if (known.includes(key)) {
      yield* unknownKeys(schema.properties[key], value[key], `${path}/${key}`);
      continue;
    }
    const meant = meantBy(key, known);
    yield meant === undefined
      ? { path, message: `Expected one of ${known.join(", ")}, got another key` }
      : { path: `${path}/${meant}`, message: `Expected ${meant}, got a key that is like it` };
  }
}

function meantBy(key: string, known: readonly string[]): string | undefined {
  if (key.length > LIKE_KEY_CHARS_MAX) return undefined;
  return misspelt(key, known) ?? known.find((name) => isPartOf(name, key));
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
