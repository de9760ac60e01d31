import { applies } from "../../../destinations/applies-when.ts";
import type { ConfigForm, SecretAudience, SecretKey } from "../../../destinations/destination.ts";
import { OPAQUE_SECRETS_MAX } from "../../../destinations/rudder-server/limits.ts";
import { addedAudiences } from "../../../destinations/secret-audience.ts";
import type { Detail } from "../../../errors.ts";
import { isObject } from "../../../is-object.ts";
import { DETAILS_MAX } from "../../../settings/limits.ts";

export type DestinationConfig = Record<string, unknown>;

/** A stored secret that stays in the config, because the request left it out. */
interface RetainedSecret {
  secret: SecretKey;
  /** JSON pointer to the secret in the config. */
  path: string;
}

/**
 * Returns the sent config with the stored secrets that the request left out; `kept` lists these
 * secrets. A top-level key sent as null is removed. A secret without effect in the new config, such
 * as a password for another kind of authentication, is not added.
 */
export function retainSecrets(
  form: ConfigForm,
  sent: DestinationConfig,
  before: DestinationConfig,
): { config: DestinationConfig; kept: RetainedSecret[] } {
  const config = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
  const kept: RetainedSecret[] = [];
  for (const { key, inner, secret } of secretsOf(form)) {
    const { maxItems = OPAQUE_SECRETS_MAX } = form.configSchema.properties[key];
    const keep = (path: string) => kept.push({ secret, path });
    if (inner !== undefined && !Array.isArray(config[key])) {
      config[key] = retainInObject(config[key], before[key], { key, inner, keep });
    } else if (inner !== undefined) {
      config[key] = retainInList(config[key], before[key], { key, inner, keep, max: maxItems });
    } else if (
      !(key in sent) &&
      before[key] !== undefined &&
      applies(form.configSchema, key, config)
    ) {
      config[key] = before[key];
      keep(`/${key}`);
    }
    if (config[key] === undefined) delete config[key];
  }
  return { config, kept };
}

/**
 * Returns an error for each secret in `kept` that the new config would send to a host to which the
 * old config did not send the secret. `kept` has the stored secrets that the request left out.
 */
export function audienceErrors(
  kept: readonly RetainedSecret[],
  config: DestinationConfig,
  before: DestinationConfig,
): Detail[] {
  return kept.slice(0, DETAILS_MAX).flatMap(({ secret, path }) => {
    const old = audiencesOf(secret, before);
    const [moved] = addedAudiences(old, audiencesOf(secret, config));
    if (moved === undefined) return [];
    const of = `the one that is kept is for ${textOf(old) || "another place"}`;
    return [{ path, message: `Expected the secret again, since ${of}, got none` }];
  });
}

/**
 * Splits the path of each secret at the period. `key` is a key of the config, and `inner` a key in
 * the object or in each list item under `key`. A path without a period has no `inner`.
 */
export function secretsOf({ secretKeys }: ConfigForm) {
  return secretKeys.map((secret) => {
    const [key = "", inner] = secret.path.split(".", 2);
    return { key, inner, secret };
  });
}

/**
 * Returns a JSON pointer to each secret in a config. Omits a secret key whose value is absent, null
 * or an empty string.
 */
export function secretPaths(form: ConfigForm, config: DestinationConfig): string[] {
  return secretsOf(form).flatMap(({ key, inner, secret: { isSecret = () => true } }) => {
    const value = config[key];
    if (inner === undefined) return isSet(value) ? [`/${key}`] : [];
    if (!Array.isArray(value)) {
      return isObject(value) && isSet(value[inner]) ? [`/${key}/${inner}`] : [];
    }
    return value.flatMap((item: unknown, index) =>
      isObject(item) && isSet(item[inner]) && isSecret(item) ? [`/${key}/${index}/${inner}`] : [],
    );
  });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/**
 * Returns the hosts to which a secret of this config is sent. Empty if the config names no host,
 * because the destination is disabled or an earlier version stored the config.
 */
function audiencesOf({ audiences }: SecretKey, config: DestinationConfig): SecretAudience[] {
  try {
    return audiences(config);
  } catch {
    return [];
  }
}

function textOf(audiences: readonly SecretAudience[]): string {
  const texts = audiences.map(({ host, isTls, certificate }) => {
    if (!isTls) return host;
    return `${host} within TLS${certificate === undefined ? "" : " by the stored tlsCa and tlsServerName"}`;
  });
  return texts.join(", ");
}

interface SecretMember {
  key: string;
  inner: string;
  /** Notes that the new config keeps a stored secret. `path` is the JSON pointer to the secret. */
  keep(path: string): void;
}

/**
 * Returns `value`, an object in the sent config. If the object's secret is missing or empty,
 * returns a copy that contains the stored secret.
 */
function retainInObject(
  value: unknown,
  before: unknown,
  { key, inner, keep }: SecretMember,
): unknown {
  if (!isObject(value) || !isObject(before)) return value;
  const isLeftOut = [undefined, null, ""].includes(value[inner] as string | null | undefined);
  if (!isLeftOut || before[inner] === undefined) return value;
  keep(`/${key}/${inner}`);
  return { ...value, [inner]: before[inner] };
}

/**
 * Returns the sent list `items`. Each item without its secret gets the secret of a stored item with
 * otherwise equal fields; each stored secret is used at most once. A list longer than `max` is
 * returned unchanged.
 */
function retainInList(
  items: unknown,
  before: unknown,
  { key, inner, keep, max }: SecretMember & { max: number },
): unknown {
  if (!Array.isArray(items) || !Array.isArray(before) || items.length > max) return items;
  const left = Map.groupBy(before.filter(isObject), (item) => identity(item, inner));
  return items.map((item: unknown, index) => {
    if (!isObject(item)) return item;
    const old = left.get(identity(item, inner))?.shift();
    const isLeftOut = item[inner] === undefined || item[inner] === "";
    if (!isLeftOut || old === undefined) return item;
    // Some headers have an empty value, which is not a secret.
    if (old[inner] !== "") keep(`/${key}/${index}/${inner}`);
    return { ...item, [inner]: old[inner] };
  });
}

/**
 * Returns a text for the comparison of items. Two items have the same text exactly if they have
 * equal fields, in any order. The field named by `inner` is ignored.
 */
function identity(item: DestinationConfig, inner: string): string {
  const others = Object.entries(item).filter(([key]) => key !== inner);
  return JSON.stringify(others.sort(([one], [other]) => (one < other ? -1 : 1)));
}
