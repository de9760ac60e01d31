import type { TSchema } from "@sinclair/typebox";
import type { ConfigForm, DestinationKind } from "../../../destinations/destination.ts";
import type { Detail } from "../../../errors.ts";
import { DETAILS_MAX } from "../../../settings/limits.ts";
import { unknownKeys } from "../../request/unknown-keys.ts";
import { validationError } from "../../request/validation.ts";
import { isObject } from "../../schema/common.ts";
import {
  audienceErrors,
  type DestinationConfig,
  retainSecrets,
  secretsOf,
} from "./stored-secrets.ts";

/**
 * Returns the config to store: validated, without nulls, and with the stored secrets that the
 * request leaves out. Throws when the config is invalid, or when a stored secret would be sent to
 * another host, since the caller may not know the secret.
 */
export function resolveConfig(
  kind: DestinationKind,
  sent: DestinationConfig,
  before: DestinationConfig,
): DestinationConfig {
  const form = formOf(kind, sent);
  const { config, kept } = retainSecrets(form, sent, before);
  const faults = configErrors(form, config);
  if (faults.length === 0) faults.push(...audienceErrors(kept, config, before));
  const [fault, ...more] = faults.map((it) => ({ ...it, path: `/config${it.path}` }));
  if (fault) throw validationError([fault, ...more]);
  return config;
}

/**
 * Returns the config as answers show it: only known keys, and no secrets. A secret in an item of a
 * list becomes an empty text.
 */
export function configAnswer(kind: DestinationKind, config: DestinationConfig): DestinationConfig {
  const form = formOf(kind, config);
  const shown: DestinationConfig = {};
  for (const key in form.configSchema.properties) {
    if (config[key] !== undefined) shown[key] = config[key];
  }
  for (const { key, inner } of secretsOf(form)) {
    if (inner === undefined) delete shown[key];
    else if (Array.isArray(shown[key])) {
      shown[key] = shown[key].map((item: DestinationConfig) => ({ ...item, [inner]: "" }));
    } else if (isObject(shown[key])) {
      const { [inner]: _, ...rest } = shown[key];
      shown[key] = rest;
    }
  }
  return shown;
}

/** The config schema of a destination, with its secrets marked as `writeOnly`. */
export function schemaWithSecrets(kind: DestinationKind): TSchema {
  const schema: TSchema = structuredClone(kind.configSchema);
  for (const { key, inner } of secretsOf(kind)) {
    const property = schema.properties?.[key];
    const holder = property?.items ?? property;
    const secret = inner === undefined ? property : holder?.properties?.[inner];
    if (secret !== undefined) secret.writeOnly = true;
  }
  return schema;
}

/** The form in which a config is written: in the kind's own keys, or in RudderStack's. */
function formOf(kind: DestinationKind, config: DestinationConfig): ConfigForm {
  return kind.formOf?.(config) ?? kind;
}

function configErrors(form: ConfigForm, config: DestinationConfig): Detail[] {
  const unknown = unknownKeys(form.configSchema, config, "").take(DETAILS_MAX);
  return [...unknown, ...form.validate(config)].slice(0, DETAILS_MAX);
}
