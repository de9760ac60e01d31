import type { SecretAudience } from "./destination.ts";

/** Returns the server of a URL as the receiver of a secret. Throws if the text is not a URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/**
 * Returns a string that describes which certificates of the server a config with `tlsCa` and
 * `tlsServerName` accepts. The defaults are the system's authorities and the name `host`. The
 * string is part of the identity of a secret's receiver: a user who replaces the authorities could
 * put another server at the receiver's address.
 */
export function acceptedCertificate(
  { tlsCa = "", tlsServerName }: { tlsCa?: string; tlsServerName?: string },
  host: string,
): string {
  return JSON.stringify([(tlsServerName ?? host).toLowerCase(), tlsCa.trim()]);
}

/**
 * Returns the receivers of a secret that are in `after` but not in `before`. A receiver also counts
 * as added if it has TLS in `before` and no TLS in `after`.
 */
export function addedAudiences(
  before: readonly SecretAudience[],
  after: readonly SecretAudience[],
): SecretAudience[] {
  return after.filter(({ host, isTls, certificate, use }) => {
    const isOld = (old: SecretAudience) =>
      old.host === host &&
      old.use === use &&
      old.certificate === certificate &&
      (isTls || !old.isTls);
    return !before.some(isOld);
  });
}
