import type {
  DestinationKind,
  SecretAudience,
  SecretKey,
} from "../../../destinations/destination.ts";
import { addedAudiences } from "../../../destinations/secret-audience.ts";
import type { Detail } from "../../../errors.ts";
import { DETAILS_MAX } from "../../../settings/limits.ts";
import { isObject } from "../../schema/common.ts";

export type DestinationConfig = Record<string, unknown>;

/** A stored secret that the caller left out and that is therefore kept. */
interface RetainedSecret {
  secret: SecretKey;
  /** Pointer inside the config. */
  path: string;
}

/** A config without nulls, with the stored secrets where the caller leaves them out. */
export function retainSecrets(
  kind: DestinationKind,
  sent: DestinationConfig,
  before: DestinationConfig,
): { config: DestinationConfig; kept: RetainedSecret[] } {
  const config = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
  const kept: RetainedSecret[] = [];
  for (const { key, inner, secret } of secretsOf(kind)) {
    const { maxItems, type } = kind.configSchema.properties[key];
    const keep = (path: string) => kept.push({ secret, path });
    if (inner !== undefined && type === "object") {
      config[key] = retainInObject(config[key], before[key], { key, inner, keep });
    } else if (inner !== undefined) {
      config[key] = retainInList(config[key], before[key], { key, inner, keep, max: maxItems });
    } else if (!(key in sent) && before[key] !== undefined) {
      config[key] = before[key];
      keep(`/${key}`);
    }
    if (config[key] === undefined) delete config[key];
  }
  return { config, kept };
}

/** Errors for kept secrets that would be sent to another host than before. */
export function audienceErrors(
  kept: readonly RetainedSecret[],
  config: DestinationConfig,
  before: DestinationConfig,
): Detail[] {
  return kept.slice(0, DETAILS_MAX).flatMap(({ secret, path }) => {
    const old = audiencesOf(secret, before);
    const [moved] = addedAudiences(old, secret.audiences(config));
    if (moved === undefined) return [];
    const of = `the one that is kept is for ${textOf(old) || "another place"}`;
    return [{ path, message: `Expected the secret again, since ${of}, got none` }];
  });
}

/**
 * Secret keys as pairs: `secret` is a key of the config, `headers.to` a key of each item of a list,
 * `oauth.clientSecret` a key of an object.
 */
export function secretsOf({ secretKeys }: DestinationKind) {
  return secretKeys.map((secret) => {
    const [key = "", inner] = secret.path.split(".", 2);
    return { key, inner, secret };
  });
}

/** The audiences of a secret; none where a config of an earlier version does not name them. */
function audiencesOf({ audiences }: SecretKey, config: DestinationConfig): SecretAudience[] {
  try {
    return audiences(config);
  } catch {
    return [];
  }
}

function textOf(places: readonly SecretAudience[]): string {
  return places.map(({ host, isTls }) => (isTls ? `${host} within TLS` : host)).join(", ");
}

interface SecretMember {
  key: string;
  inner: string;
  /** Called with the pointer of a secret that is kept. */
  keep(path: string): void;
}

/** Gives an object whose secret is absent or empty the stored one. */
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
 * Gives an item whose secret is absent or empty the secret of the stored item that is otherwise
 * equal; several equal items get one secret each, in order. A list with too many items is returned
 * as it is and refused later.
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
    // An empty text, the value of some headers, is no secret.
    if (old[inner] !== "") keep(`/${key}/${index}/${inner}`);
    return { ...item, [inner]: old[inner] };
  });
}

/** An item without its secret, as a text to compare items by. */
function identity(item: DestinationConfig, inner: string): string {
  return JSON.stringify({ ...item, [inner]: undefined });
}
