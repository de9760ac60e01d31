import type { EgressRequest } from "../egress/egress.ts";
import { isObject } from "../is-object.ts";
import type { DestinationKind } from "./destination.ts";
import { MASK } from "./masked-url.ts";

/** Names, in lower case, of request headers whose values are not secret. */
const openHeaders = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "host",
  "user-agent",
  "webhook-id",
  "webhook-timestamp",
  "x-amz-content-sha256",
  "x-amz-date",
  "x-clickhouse-user",
]);

/**
 * Minimum length of a URL path segment that counts as a secret, in characters, if the segment has
 * no digit. With a digit, the minimum is 8.
 */
const PATH_TOKEN_CHARS_MIN = 16;

/**
 * Returns the secrets that a request contains: the values of all headers that are not in
 * `openHeaders`, and the secret parts of the URL. They are masked in the receiver's answer.
 */
export function secretsOfRequest({ headers, url }: Pick<EgressRequest, "headers" | "url">) {
  const values = Object.entries(headers).filter(([name]) => !openHeaders.has(name.toLowerCase()));
  return [...values.flatMap(([, value]) => formsOfHeader(value)), ...secretsOfUrl(url)];
}

/**
 * Returns the secrets in a destination's config: the values of the `secretKeys`, and the secret
 * parts of URLs in the `maskedKeys`. Both lists come from `kind.formOf` if the config has
 * RudderStack's keys.
 */
export function secretsOfConfig(
  kind: Pick<DestinationKind, "secretKeys" | "maskedKeys" | "formOf">,
  config: Record<string, unknown>,
): string[] {
  const { secretKeys, maskedKeys = [] } = kind.formOf?.(config) ?? kind;
  const secrets = secretKeys.flatMap(({ path, isSecret }) => {
    const [key = "", inner] = path.split(".", 2);
    const items = [config[key]].flat().filter((item) => {
      return inner === undefined || (isObject(item) && (isSecret?.(item) ?? true));
    });
    return items.flatMap((item) =>
      textsOf(inner === undefined ? item : Reflect.get(item as object, inner)),
    );
  });
  const urls = maskedKeys.flatMap(({ path, shown }) => {
    const [key = "", inner] = path.split(".", 2);
    const value = config[key];
    const texts = textsOf(inner !== undefined && isObject(value) ? value[inner] : value);
    return texts.flatMap((url) => {
      const isHidden = shown(config).endsWith(`/${MASK}`);
      return [...secretsOfUrl(url), ...(isHidden ? pathAndQuery(url) : [])];
    });
  });
  return [...secrets.flatMap(formsOfHeader), ...urls];
}

function pathAndQuery(url: string): string[] {
  const { pathname, search } = new URL(url);
  return [pathname, search].filter((part) => part.length > 1);
}

/**
 * Returns the secret parts of a URL, each as written and decoded: user, password, query values of
 * more than 3 characters, and path segments that look like tokens (see `PATH_TOKEN_CHARS_MIN`).
 */
function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (url === null) return [];
  const parts = url.pathname.split("/").filter(isToken);
  const raw = url.search
    .slice(1)
    .split("&")
    .flatMap((pair) => pair.split("=", 2)[1] ?? []);
  const values = [...url.searchParams.values(), ...raw].filter((value) => value.length > 3);
  const given = [url.username, url.password, ...parts, ...values];
  return given.flatMap((part) => (part === "" ? [] : [part, decoded(part)]));
}

function isToken(part: string): boolean {
  return part.length >= PATH_TOKEN_CHARS_MIN || (part.length >= 8 && /\d/.test(part));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Returns the secrets in a header's value: the whole value, and the credentials after a scheme such
 * as `Bearer`. If the scheme is `Basic`, adds the decoded credentials (`user:password`) and the
 * password.
 */
function formsOfHeader(value: string): string[] {
  const [, scheme = "", credentials = ""] = /^([\w-]+) +(\S.*)$/.exec(value) ?? [];
  if (credentials === "") return [value];
  if (scheme.toLowerCase() !== "basic") return [value, credentials];
  const pair = Buffer.from(credentials, "base64").toString();
  const password = pair.slice(pair.indexOf(":") + 1);
  return [value, credentials, pair, password];
}

const textsOf = (value: unknown) => (typeof value === "string" && value !== "" ? [value] : []);
