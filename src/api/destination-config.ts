import type { TSchema } from "@sinclair/typebox";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Detail } from "../errors.ts";
import { DETAILS_MAX } from "../settings/limits.ts";
import { type Config, isObject, movedFaults, secretsOf, withKept } from "./kept-secrets.ts";
import { invalid } from "./request-validation.ts";
import { unknownKeys } from "./unknown-keys.ts";

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
