import type { TSchema } from "@sinclair/typebox";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Detail } from "../errors.ts";
import { DETAILS_MAX } from "../limits.ts";
import { misspelt } from "../misspelt.ts";
import { invalid } from "./request-validation.ts";

type Config = Record<string, unknown>;

/** Longest unknown key for which a similar known key is looked for. */
const LIKE_KEY_CHARS_MAX = 100;

/**
 * The config to store: without nulls, with the stored secrets where the caller leaves them out, and
 * valid.
 */
export function settledConfig(kind: DestinationKind, sent: Config, before: Config): Config {
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
  const config = { ...given };
  for (const { key, inner } of secretsOf(kind)) {
    const { maxItems, type } = kind.configSchema.properties[key];
    if (inner !== undefined && type === "object") {
      config[key] = withOldMember(given[key], before[key], inner);
    } else if (inner !== undefined) {
      config[key] = withOldItems(given[key], before[key], inner, maxItems);
    } else if (!(key in sent)) config[key] = before[key];
    if (config[key] === undefined) delete config[key];
  }
  const [fault, ...more] = faultsOf(kind, config).map((detail) => ({
    ...detail,
    path: `/config${detail.path}`,
  }));
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

/**
 * Secret keys as pairs: `secret` is a key of the config itself, `headers.to` a key of each item of
 * a list, `oauth.clientSecret` a key of an object.
 */
function secretsOf({ secretKeys }: DestinationKind) {
  return secretKeys.map((path) => {
    const [key = "", inner] = path.split(".", 2);
    return { key, inner };
  });
}

/** An object whose secret is absent or empty gets the stored one. */
function withOldMember(value: unknown, before: unknown, inner: string): unknown {
  if (!isObject(value) || !isObject(before)) return value;
  const isLeftOut = [undefined, null, ""].includes(value[inner] as string | null | undefined);
  return isLeftOut && before[inner] !== undefined ? { ...value, [inner]: before[inner] } : value;
}

/**
 * An item whose secret is absent, or empty as it is shown, gets the secret of the stored item that
 * is otherwise equal; of several equal ones, each gets its own. A list with too many items stays as
 * it is, and is refused later.
 */
function withOldItems(items: unknown, before: unknown, inner: string, max: number): unknown {
  if (!Array.isArray(items) || !Array.isArray(before) || items.length > max) return items;
  const left = Map.groupBy(before.filter(isObject), (item) => identity(item, inner));
  return items.map((item: unknown) => {
    if (!isObject(item)) return item;
    const old = left.get(identity(item, inner))?.shift();
    const isLeftOut = item[inner] === undefined || item[inner] === "";
    return isLeftOut && old ? { ...item, [inner]: old[inner] } : item;
  });
}

/** An item without its secret, as a text to compare. */
function identity(item: Config, inner: string): string {
  return JSON.stringify({ ...item, [inner]: undefined });
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

function isObject(value: unknown): value is Config {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
